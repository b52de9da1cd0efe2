// SPDX-License-Identifier: Apache-2.0
// Carries one worker's training through a job: before a unit's forward it waits for the unit's
// parameters, after its backward it lets the gradients go, and all along it measures what units and
// link cost. In the idle window after backward it plans anew: the pulls while gradients are still
// leaving, the pushes while waiting for the first unit's parameters.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/hooks.h"
#include "core/param_channel.h"
#include "sched/runtime/profiler.h"
#include "sched/strategy.h"
#include "sched/timeline.h"

namespace weft::sched {

class BackgroundPlanner;

// What a round is expected to be, by what was known when the one before it ended.
struct Expectation {
  CostProfile profile = {};
  IterationPlan plan = {};  // in force in this round
  int64_t plan_number = 0;
  Nanos iteration_ns = 0;  // that it takes; 0: weave has no plan yet
  Nanos bound_ns = 0;      // that no plan could beat
};

// From the end of one backward to the end of the next.
struct RoundReport {
  int64_t round = 0;
  Nanos total_ns = 0;
  Portions portions = {};
  bool planned = false;  // another plan holds from here on
  int push_segments = 0;
  int pull_segments = 0;
  // As it was expected; 0: too little was known.
  Nanos predicted_ns = 0;
  Nanos bound_ns = 0;
  std::optional<LinkCost> up = {};
  std::optional<LinkCost> down = {};
  Nanos round_trip_ns = 0;
};

// What was done when, and what was expected.
struct RoundTrace {
  int64_t round = 0;
  Nanos begin_ns = 0;  // the end of the backward before
  Nanos end_ns = 0;
  std::vector<Span> spans = {};
  std::optional<Expectation> expected = {};
};

class TransferScheduler final : public StepHooks {
 public:
  struct Setting {
    Strategy strategy = Strategy::kWeave;
    int64_t replan_rounds = 50;  // a plan is made anew at least so often
    int64_t message_bytes = 0;   // larger segments travel as several messages
    size_t keep_rounds = 0;      // of the trace
  };
  // Where a unit lies in the network; borrowed.
  struct Unit {
    std::string name = {};
    std::span<float> parameters = {};
    std::span<float> statistics = {};
    std::span<const float> gradients = {};
  };
  // Borrows channel and clock.
  TransferScheduler(const Setting& setting, std::vector<Unit> units, ParamChannel& channel,
                    const Clock& clock);
  ~TransferScheduler() override;
  TransferScheduler(const TransferScheduler&) = delete;
  TransferScheduler& operator=(const TransferScheduler&) = delete;

  void BeginStep(int64_t round) override;
  bool BeforeForward(int unit) override;
  void EndForward() override;
  void AfterBackward(int unit) override;
  void EndStep() override;
  bool Abandoned() const override { return abandoned_; }

  // The present step, or the one about to begin, ends with another plan, as soon as there can be
  // one: an epoch is over.
  void PlanAnew() { plan_anew_ = true; }

  // Of the last step that was not abandoned.
  const RoundReport& report() const { return report_; }
  std::optional<CostProfile> profile() const { return profiler_.Profile(); }
  // Of the last rounds, the oldest first. A push lasts from when it was handed to the connection, a
  // pull for as long as the fitted link takes, each not before the end of the one before it.
  const std::deque<RoundTrace>& trace() const { return trace_; }
  const IterationPlan& plan() const { return plan_; }

 private:
  bool WantsPlan(const CostProfile& now) const;
  void UseFirstPlan();
  // In bytes.
  std::vector<int64_t> SlicePlaces() const;
  // The pulls' half, or the pushes', of a plan that is quick to make.
  void PlanPulls(const CostProfile& profile);
  void PlanPushes();
  void TakeMadePlan();
  void UsePlan();
  void AddSpan(Lane lane, int first_unit, int last_unit, Nanos begin_ns, Nanos end_ns);
  void TakeArrivals();
  void AddTransfers();
  void TakePrice();
  void Plan();
  // What can be said of the next round.
  std::optional<Expectation> Expected() const;
  void Report(Nanos now);

  // Fixed after construction.
  const Setting setting_;
  const std::vector<Unit> units_;
  const CostProfile sizes_;          // only the bytes of each unit
  const std::vector<int64_t> ends_;  // floats, of each unit
  ParamChannel& channel_;
  const Clock& clock_;

  Profiler profiler_;
  std::unique_ptr<BackgroundPlanner> planner_;  // weave's, which takes its time

  // The present step.
  int64_t round_ = 0;
  bool abandoned_ = false;
  Nanos since_ns_ = 0;  // the present unit began to compute
  int forward_unit_ = -1;
  std::vector<Nanos> forward_ns_;
  std::vector<Nanos> backward_ns_;

  // Plans.
  IterationPlan plan_;
  std::optional<CostProfile> planned_for_;    // the profile that plan_ was made for
  std::optional<CostProfile> push_plan_due_;  // for the pushes, while waiting for parameters
  int64_t planned_round_ = 0;
  int64_t plan_number_ = 0;
  int64_t priced_plan_ = 0;  // that the planner was given
  bool plan_anew_ = false;
  bool planned_ = false;  // since the last report

  // What is known of the present round, and how it goes.
  std::optional<Expectation> expected_;
  std::vector<Arrival> arrivals_;
  std::vector<Span> spans_;
  Nanos line_up_ns_ = 0;  // until when each was taken
  Nanos line_down_ns_ = 0;
  Nanos last_end_ns_ = 0;
  RoundReport report_;
  std::deque<RoundTrace> trace_;
};

}  // namespace weft::sched
