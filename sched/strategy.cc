// SPDX-License-Identifier: Apache-2.0
#include "sched/strategy.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "sched/baselines.h"
#include "sched/dynacomm.h"
#include "sched/dynacomm_paper.h"
#include "sched/hop_chain.h"
#include "sched/ibatch.h"

namespace weft::sched {
namespace {

// Unit borders between slices; both directions cut alike.
Cuts BordersOf(const std::vector<Slice>& slices) {
  Cuts cuts = {0};
  for (const Slice& slice : slices) {
    if (slice.first_unit - 1 != cuts.back()) cuts.push_back(slice.first_unit - 1);
  }
  cuts.push_back(slices.back().last_unit);
  return cuts;
}

// The cuts of a strategy with a barrier.
IterationPlan Cut(Strategy strategy, const CostProfile& profile) {
  const PhaseCosts forward = ForwardPhase(profile);
  const PhaseCosts backward = BackwardPhase(profile);
  const int length = profile.unit_count();
  IterationPlan plan{.strategy = strategy};
  switch (strategy) {
    case Strategy::kSequential:
      plan.forward.cuts = plan.backward.cuts = SequentialCuts(length);
      break;
    case Strategy::kLayerByLayer:
      plan.forward.cuts = plan.backward.cuts = LayerByLayerCuts(length);
      break;
    case Strategy::kIbatch:
      plan.forward = PlanIbatchForward(forward);
      plan.backward.cuts = LayerByLayerCuts(length);
      break;
    case Strategy::kDynacomm:
      plan.forward = PlanDynacommForward(forward);
      plan.backward = PlanDynacommBackward(backward);
      break;
    case Strategy::kDynacommPaper:
      plan.forward = PlanDynacommPaperForward(forward);
      plan.backward = PlanDynacommPaperBackward(backward);
      break;
    case Strategy::kDynacommHops:
      plan.forward = PlanForwardChain(ForwardChain(profile));
      plan.backward = PlanBackwardChain(BackwardChain(profile));
      break;
    case Strategy::kWeave:
      assert(false);
      break;
  }
  return plan;
}

void Price(const CostProfile& profile, IterationPlan& plan) {
  plan.forward.ns = ForwardChainNs(ForwardChain(profile), plan.forward.cuts);
  plan.backward.ns = BackwardChainNs(BackwardChain(profile), plan.backward.cuts);
  plan.iteration_ns = plan.forward.ns + plan.backward.ns + profile.latency_ns;
}

IterationPlan PlanSlices(const CostProfile& profile, std::span<const int64_t> places) {
  IterationPlan plan{.strategy = Strategy::kWeave, .weave = PlanWeave(profile, places)};
  plan.forward.cuts = BordersOf(plan.weave->slices);
  plan.backward.cuts = Reversed(plan.forward.cuts);
  const SimReport report = Simulate(profile, ScheduleOf(profile, plan), {});
  plan.forward.ns = report.forward_ns;
  plan.backward.ns = report.backward_ns;
  plan.iteration_ns = report.iteration_ns;
  return plan;
}

// A few units behind a large Δt can be better off with segments that differ up and down; then
// weave follows the segment plan.
IterationPlan PlanWeaveIteration(const CostProfile& profile, std::span<const int64_t> places) {
  IterationPlan slices = PlanSlices(profile, places);
  const bool know_hops = profile.broker && profile.unit_count() <= kMaxChainUnits;
  IterationPlan segments = Cut(know_hops ? Strategy::kDynacommHops : Strategy::kDynacomm, profile);
  Price(profile, segments);
  segments.strategy = Strategy::kWeave;
  return segments.iteration_ns < slices.iteration_ns ? segments : slices;
}

// With one worker.
SimReport Rounds(const CostProfile& profile, const IterationPlan& plan, int rounds) {
  IterationPlan now = plan;
  if (plan.weave) now.weave->slices = SlicesEndingAt(profile, EndsOf(plan.weave->slices));
  return Simulate(profile, ScheduleOf(profile, now), {.rounds = rounds});
}

constexpr std::pair<Strategy, std::string_view> kNames[] = {
    {Strategy::kSequential, "sequential"},
    {Strategy::kLayerByLayer, "lbl"},
    {Strategy::kIbatch, "ibatch"},
    {Strategy::kDynacomm, "dynacomm"},
    {Strategy::kWeave, "weave"},
    {Strategy::kDynacommPaper, "dynacomm_paper"},
    {Strategy::kDynacommHops, "dynacomm_hops"},
};

}  // namespace

std::vector<Strategy> JobStrategies() {
  return {Strategy::kSequential, Strategy::kLayerByLayer, Strategy::kIbatch, Strategy::kDynacomm,
          Strategy::kWeave};
}

std::vector<Strategy> AllStrategies() {
  std::vector<Strategy> all;
  for (const auto& [strategy, name] : kNames) all.push_back(strategy);
  return all;
}

std::string_view Name(Strategy strategy) {
  for (const auto& [known, name] : kNames) {
    if (known == strategy) return name;
  }
  assert(false);
  return "";
}

Result<Strategy> ParseStrategy(std::string_view name, const std::vector<Strategy>& known) {
  std::string known_names;
  for (const Strategy strategy : known) {
    if (Name(strategy) == name) return strategy;
    known_names += (known_names.empty() ? "" : ", ") + std::string(Name(strategy));
  }
  return Status::InvalidInput("unknown strategy '" + std::string(name) + "'; choose one of " +
                              known_names);
}

Result<IterationPlan> PlanIteration(Strategy strategy, const CostProfile& profile,
                                    std::span<const int64_t> places) {
  if (strategy == Strategy::kWeave) return PlanWeaveIteration(profile, places);
  const int most = strategy == Strategy::kDynacommPaper  ? kMaxPaperUnits
                   : strategy == Strategy::kDynacommHops ? kMaxChainUnits
                                                         : kMaxUnits;
  if (profile.unit_count() > most) {
    return Status::InvalidInput(std::string(Name(strategy)) + " takes at most " +
                                std::to_string(most) + " units in reasonable time, here are " +
                                std::to_string(profile.unit_count()) + "; use dynacomm");
  }
  IterationPlan plan = Cut(strategy, profile);
  Price(profile, plan);
  return plan;
}

Nanos IterationNs(const CostProfile& profile, const IterationPlan& plan) {
  if (!plan.weave) {
    IterationPlan priced = plan;
    Price(profile, priced);
    return priced.iteration_ns;
  }
  return Rounds(profile, plan, JobSetting{}.rounds).iteration_ns;
}

std::vector<Span> PredictRound(const CostProfile& profile, const IterationPlan& plan) {
  const int rounds = JobSetting{}.rounds;  // by then it has settled
  const SimReport report = Rounds(profile, plan, rounds);
  const auto backward_end = [&](int round) {
    Nanos end = 0;
    for (const Span& span : report.timeline) {
      if (span.lane == Lane::kBackward && span.round == round) end = std::max(end, span.end_ns);
    }
    return end;
  };
  const Nanos begin = backward_end(rounds - 2);
  const Nanos end = backward_end(rounds - 1);
  std::vector<Span> spans;
  for (Span span : report.timeline) {
    if (span.end_ns <= begin || span.begin_ns >= end) continue;
    span.begin_ns = std::max(span.begin_ns, begin) - begin;
    span.end_ns = std::min(span.end_ns, end) - begin;
    span.round -= rounds - 1;
    spans.push_back(span);
  }
  return spans;
}

Schedule ScheduleOf(const CostProfile& profile, const IterationPlan& plan) {
  if (plan.weave) return ScheduleSlices(profile, plan.weave->slices, plan.weave->push_order);
  return ScheduleSegments(profile, plan.forward.cuts, plan.backward.cuts);
}

}  // namespace weft::sched
