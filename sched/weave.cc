// SPDX-License-Identifier: Apache-2.0
#include "sched/weave.h"

#include <algorithm>
#include <tuple>

namespace weft::sched {
namespace {

// Enough rounds for a job to settle, short enough to try many sizes.
constexpr int kTrialRounds = 8;
// More slices than this are not tried, unless the units alone are more.
constexpr size_t kMostSlices = 1024;

// A plan that saves messages is preferred as long as it costs no more than one part in this many:
// the model does not know what a publish costs the processor.
constexpr Nanos kWorthNoticing = 1000;

class SizeSearch {
 public:
  SizeSearch(const CostProfile& profile, std::span<const int64_t> places)
      : profile_(profile), places_(places) {
    for (const UnitCost& unit : profile.units) {
      total_ += unit.bytes;
      pushes_ns_ += unit.push_ns;
      pulls_ns_ += unit.pull_ns;
    }
    total_ = std::max<int64_t>(total_, 1);
    least_ = std::max<int64_t>(1, total_ / static_cast<int64_t>(kMostSlices));
  }

  // One size for all slices first, from the whole model down in steps of a quarter; then smaller
  // first slices, and the largest size in finer steps, each around the best so far.
  WeavePlan Run() {
    for (int64_t size = total_; size > least_; size -= (size + 3) / 4) Try(size, size);
    for (int pass = 0; pass < 3; ++pass) {
      const SliceSizes centre = best_.sizes;
      for (int64_t first = centre.largest_bytes; first > total_ / 65536; first /= 2) {
        Try(first, centre.largest_bytes);
      }
      for (int64_t percent : {50, 65, 80, 90, 112, 125, 150, 200}) {
        Try(best_.sizes.first_bytes, centre.largest_bytes / 100 * percent);
      }
      if (best_.sizes == centre) break;
    }
    return Thrifty();
  }

 private:
  struct Trial {
    SliceSizes sizes;
    size_t slices = 0;
    Nanos iteration_ns = 0;
  };

  void Try(int64_t first_bytes, int64_t largest_bytes) {
    const int64_t largest = std::clamp(largest_bytes, least_, total_);
    const SliceSizes sizes{std::clamp<int64_t>(first_bytes, 1, largest), largest};
    const std::vector<Slice> slices = SliceUnits(profile_, sizes, places_);
    if (!trials_.empty() &&
        (slices.size() > kMostSlices || LineTime(slices.size()) >= best_.iteration_ns)) {
      return;
    }
    const SimReport report =
        Simulate(profile_, ScheduleSlices(profile_, slices), {.rounds = kTrialRounds});
    trials_.push_back({sizes, slices.size(), report.iteration_ns});
    if (trials_.size() == 1 || report.iteration_ns < best_.iteration_ns) best_ = trials_.back();
  }

  // What the busier direction needs for so many slices: no iteration is shorter.
  Nanos LineTime(size_t slices) const {
    const Nanos count = static_cast<Nanos>(slices);
    return std::max(pushes_ns_ + count * profile_.push_overhead_ns,
                    pulls_ns_ + count * profile_.pull_overhead_ns);
  }

  // The fewest slices of all trials that are as good as the best.
  WeavePlan Thrifty() const {
    const Nanos limit = best_.iteration_ns + best_.iteration_ns / kWorthNoticing;
    Trial chosen = best_;
    for (const Trial& trial : trials_) {
      const bool good = trial.iteration_ns <= limit;
      if (good && std::tie(trial.slices, trial.iteration_ns) <
                      std::tie(chosen.slices, chosen.iteration_ns)) {
        chosen = trial;
      }
    }
    WeavePlan plan{.sizes = chosen.sizes, .slices = SliceUnits(profile_, chosen.sizes, places_)};
    // The order that one worker settles into when it always sends the lowest unit it has.
    SimReport report =
        Simulate(profile_, ScheduleSlices(profile_, plan.slices), {.rounds = kTrialRounds});
    plan.push_order = std::move(report.push_order);
    plan.iteration_ns = report.iteration_ns;
    return plan;
  }

  const CostProfile& profile_;
  const std::span<const int64_t> places_;
  int64_t total_ = 0;
  int64_t least_ = 0;
  Nanos pushes_ns_ = 0;
  Nanos pulls_ns_ = 0;
  std::vector<Trial> trials_;
  Trial best_;
};

}  // namespace

WeavePlan PlanWeave(const CostProfile& profile, std::span<const int64_t> places) {
  return SizeSearch(profile, places).Run();
}

Nanos IterationBound(const CostProfile& profile) {
  Nanos compute = profile.latency_ns + profile.pull_overhead_ns + profile.push_overhead_ns;
  Nanos pushes = profile.push_overhead_ns;
  Nanos pulls = profile.pull_overhead_ns;
  for (const UnitCost& unit : profile.units) {
    compute += unit.forward_ns + unit.backward_ns;
    pushes += unit.push_ns;
    pulls += unit.pull_ns;
  }
  return std::max({compute, pushes, pulls});
}

}  // namespace weft::sched
