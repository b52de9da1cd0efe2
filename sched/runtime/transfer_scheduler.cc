// SPDX-License-Identifier: Apache-2.0
#include "sched/runtime/transfer_scheduler.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sched/baselines.h"
#include "sched/runtime/background_planner.h"
#include "sched/runtime/transfers.h"

namespace weft::sched {
namespace {

constexpr int64_t kFirstPlanAfter = 2;  // rounds: the first one only warms up
constexpr double kMoved = 0.1;  // a profile that has changed so much wants a plan of its own

CostProfile SizesOf(const std::vector<TransferScheduler::Unit>& units) {
  CostProfile profile;
  for (const TransferScheduler::Unit& unit : units) {
    profile.units.push_back({.name = unit.name,
                             .bytes = static_cast<int64_t>(unit.gradients.size_bytes() +
                                                           unit.statistics.size_bytes())});
  }
  return profile;
}

std::vector<int64_t> EndsOf(const CostProfile& sizes) {
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (const UnitCost& unit : sizes.units) {
    end += unit.bytes / static_cast<int64_t>(sizeof(float));
    ends.push_back(end);
  }
  return ends;
}

std::vector<Profiler::Unit> UnitsOf(const CostProfile& sizes) {
  std::vector<Profiler::Unit> units;
  for (const UnitCost& unit : sizes.units)
    units.push_back({.name = unit.name, .bytes = unit.bytes});
  return units;
}

// What never changes needs no profile.
bool IsFixed(Strategy strategy) {
  return strategy == Strategy::kSequential || strategy == Strategy::kLayerByLayer;
}

}  // namespace

TransferScheduler::TransferScheduler(const Setting& setting, std::vector<Unit> units,
                                     ParamChannel& channel, const Clock& clock)
    : setting_(setting),
      units_(std::move(units)),
      sizes_(SizesOf(units_)),
      ends_(EndsOf(sizes_)),
      channel_(channel),
      clock_(clock),
      profiler_(UnitsOf(sizes_), setting.message_bytes),
      forward_ns_(units_.size(), 0),
      backward_ns_(units_.size(), 0) {
  if (setting.strategy == Strategy::kWeave) planner_ = std::make_unique<BackgroundPlanner>(clock);
  UseFirstPlan();
  last_end_ns_ = clock_.NowNs();
}

TransferScheduler::~TransferScheduler() = default;

// Until the costs are known: sequential is sequential, weave sends the server's slices, and the
// others send unit by unit, which shows best what they are.
void TransferScheduler::UseFirstPlan() {
  const int length = sizes_.unit_count();
  const Cuts cuts = setting_.strategy == Strategy::kSequential ? SequentialCuts(length)
                                                               : LayerByLayerCuts(length);
  plan_ = IterationPlan{
      .strategy = setting_.strategy, .forward = {.cuts = cuts}, .backward = {.cuts = cuts}};
  if (setting_.strategy == Strategy::kWeave) return;
  channel_.Use(TransfersOf(sizes_, plan_));
}

void TransferScheduler::BeginStep(int64_t round) {
  round_ = round;
  abandoned_ = false;
  forward_unit_ = -1;
}

bool TransferScheduler::BeforeForward(int unit) {
  if (abandoned_) return false;
  const Nanos now = clock_.NowNs();
  if (forward_unit_ >= 0) {
    forward_ns_[static_cast<size_t>(forward_unit_)] = now - since_ns_;
    AddSpan(Lane::kForward, forward_unit_, forward_unit_, since_ns_, now);
  }
  if (unit == 0) {
    PlanPushes();
    TakeMadePlan();
  }
  const Unit& u = units_[static_cast<size_t>(unit)];
  abandoned_ = !channel_.TakeUnit(unit, u.parameters, u.statistics);
  since_ns_ = clock_.NowNs();
  forward_unit_ = unit;
  return !abandoned_;
}

void TransferScheduler::EndForward() {
  if (abandoned_ || forward_unit_ < 0) return;
  const Nanos now = clock_.NowNs();
  forward_ns_[static_cast<size_t>(forward_unit_)] = now - since_ns_;
  AddSpan(Lane::kForward, forward_unit_, forward_unit_, since_ns_, now);
  since_ns_ = now;
}

void TransferScheduler::AfterBackward(int unit) {
  const Nanos now = clock_.NowNs();
  backward_ns_[static_cast<size_t>(unit)] = now - since_ns_;
  AddSpan(Lane::kBackward, unit, unit, since_ns_, now);
  since_ns_ = now;  // copying the gradients out takes time as well
  const Unit& u = units_[static_cast<size_t>(unit)];
  channel_.Release(unit, u.gradients, u.statistics);
}

void TransferScheduler::EndStep() {
  if (abandoned_) return;
  const Nanos now = clock_.NowNs();
  TakeArrivals();
  profiler_.EndRound(forward_ns_, backward_ns_, channel_.round_trip_ns());
  TakePrice();
  // Slices of the next version are here already, so what weave plans from here on comes too late
  // for the next round.
  std::optional<Expectation> next;
  if (planner_) {
    next = Expected();
    TakeMadePlan();
  }
  Plan();
  if (!planner_) next = Expected();
  Report(now);
  expected_ = std::move(next);
}

void TransferScheduler::TakePrice() {
  if (!planner_) return;
  const std::optional<Nanos> price = planner_->TakePrice();
  if (price && expected_ && expected_->plan_number == priced_plan_) {
    expected_->iteration_ns = *price;
  }
}

void TransferScheduler::Plan() {
  const std::optional<CostProfile> profile = profiler_.Profile();
  if (!profile || (planner_ && planner_->busy())) return;
  const bool plans = WantsPlan(*profile);
  if (plans) {
    planned_for_ = profile;
    planned_round_ = round_;
    plan_anew_ = false;
  }
  if (planner_) {
    const bool prices = plan_.iteration_ns > 0;
    planner_->Start({.profile = *profile,
                     .in_force = prices ? std::optional(plan_) : std::nullopt,
                     .plan = plans,
                     .places = plans ? SlicePlaces() : std::vector<int64_t>()});
    priced_plan_ = plan_number_;
  } else if (plans && !IsFixed(setting_.strategy)) {
    PlanPulls(*profile);
  }
}

std::optional<Expectation> TransferScheduler::Expected() const {
  const std::optional<CostProfile> profile = profiler_.ProfileOf(plan_);
  if (!profile) return std::nullopt;
  Expectation next{.profile = *profile,
                   .plan = plan_,
                   .plan_number = plan_number_,
                   .bound_ns = IterationBound(*profile)};
  if (!planner_) {
    next.iteration_ns = IterationNs(*profile, plan_);
  } else {
    // Until its price by this profile is there.
    const bool priced = expected_ && expected_->plan_number == plan_number_;
    next.iteration_ns = priced ? expected_->iteration_ns : plan_.iteration_ns;
  }
  return next;
}

std::vector<int64_t> TransferScheduler::SlicePlaces() const {
  std::vector<int64_t> places = channel_.SliceEnds();
  for (int64_t& place : places) place *= static_cast<int64_t>(sizeof(float));
  return places;
}

bool TransferScheduler::WantsPlan(const CostProfile& now) const {
  if (!planned_for_) return profiler_.rounds() >= kFirstPlanAfter;
  return plan_anew_ || round_ - planned_round_ >= setting_.replan_rounds ||
         Change(*planned_for_, now) > kMoved;
}

void TransferScheduler::PlanPulls(const CostProfile& profile) {
  const Nanos begin = clock_.NowNs();
  Result<IterationPlan> fresh = PlanIteration(setting_.strategy, profile);
  assert(fresh.ok());
  if (!fresh.ok()) return;
  plan_.forward = fresh->forward;
  push_plan_due_ = profile;
  UsePlan();
  AddSpan(Lane::kPlan, 0, 0, begin, clock_.NowNs());
}

void TransferScheduler::PlanPushes() {
  if (!push_plan_due_) return;
  const Nanos begin = clock_.NowNs();
  Result<IterationPlan> fresh = PlanIteration(setting_.strategy, *push_plan_due_);
  if (fresh.ok()) {
    plan_.backward = fresh->backward;
    UsePlan();
  }
  push_plan_due_.reset();
  AddSpan(Lane::kPlan, 0, 0, begin, clock_.NowNs());
}

void TransferScheduler::TakeMadePlan() {
  if (!planner_) return;
  std::optional<BackgroundPlanner::Made> made = planner_->Take();
  if (!made) return;
  plan_ = std::move(made->plan);
  AddSpan(Lane::kPlan, 0, 0, made->begin_ns, made->end_ns);
  UsePlan();
}

void TransferScheduler::UsePlan() {
  planned_ = true;
  ++plan_number_;
  channel_.Use(TransfersOf(sizes_, plan_));
}

void TransferScheduler::AddSpan(Lane lane, int first_unit, int last_unit, Nanos begin_ns,
                                Nanos end_ns) {
  spans_.push_back({.lane = lane,
                    .round = static_cast<int>(round_),
                    .first_unit = first_unit + 1,
                    .last_unit = last_unit + 1,
                    .begin_ns = begin_ns,
                    .end_ns = end_ns});
}

void TransferScheduler::TakeArrivals() {
  arrivals_.clear();
  channel_.TakeArrivals(arrivals_);
  for (const Arrival& arrival : arrivals_) profiler_.Add(arrival);
}

// As this end of the link has them. A gradient had the line from when it was handed over, or from
// when the one before it was through, and was through half a round trip before it arrived. Of
// parameters only the arrival is known here: they had the line since the arrival before, or for as
// long as the link takes for so many bytes.
void TransferScheduler::AddTransfers() {
  const auto unit_at = [&](int64_t place) {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), place);
    return static_cast<int>(std::min(end, ends_.end() - 1) - ends_.begin());
  };
  for (const Arrival& arrival : arrivals_) {
    const std::optional<LinkCost> cost = arrival.up ? profiler_.up() : profiler_.down();
    Nanos& line = arrival.up ? line_up_ns_ : line_down_ns_;
    const Nanos through = arrival.heard_ns - (arrival.up ? profiler_.round_trip_ns() : 0);
    const Nanos entered =
        arrival.sent_ns > 0 ? arrival.sent_ns : through - (cost ? cost->Of(arrival.bytes) : 0);
    const Nanos begin = std::max(line, entered);
    line = std::max(begin, through);
    const int64_t last = arrival.begin + arrival.bytes / static_cast<int64_t>(sizeof(float)) - 1;
    AddSpan(arrival.up ? Lane::kPush : Lane::kPull, unit_at(arrival.begin), unit_at(last), begin,
            line);
  }
}

void TransferScheduler::Report(Nanos now) {
  report_ = {.round = round_,
             .total_ns = now - last_end_ns_,
             .planned = planned_,
             .up = profiler_.up(),
             .down = profiler_.down(),
             .round_trip_ns = profiler_.round_trip_ns()};
  planned_ = false;
  const bool unplanned = setting_.strategy == Strategy::kWeave && plan_.iteration_ns == 0;
  report_.push_segments = unplanned ? static_cast<int>(SlicePlaces().size()) : PushSegments(plan_);
  report_.pull_segments = unplanned ? report_.push_segments : PullSegments(plan_);
  if (expected_) {
    report_.predicted_ns = expected_->iteration_ns;
    report_.bound_ns = expected_->bound_ns;
  }
  AddTransfers();
  report_.portions = PortionsOf(spans_, last_end_ns_, now);
  trace_.push_back({.round = round_,
                    .begin_ns = last_end_ns_,
                    .end_ns = now,
                    .spans = std::exchange(spans_, {}),
                    .expected = std::move(expected_)});
  if (trace_.size() > setting_.keep_rounds) trace_.pop_front();
  last_end_ns_ = now;
}

}  // namespace weft::sched
