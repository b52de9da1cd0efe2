// SPDX-License-Identifier: Apache-2.0
#include "bench/planner_bench.h"

#include <algorithm>
#include <functional>

#include "core/rng.h"
#include "sched/dynacomm.h"
#include "sched/dynacomm_paper.h"

namespace weft::bench {
namespace {

using sched::Nanos;
using sched::PhaseCosts;

constexpr int kUnits[] = {19, 22, 76, 152, 300, 500, 1000, 2000, 5000, 10000};
constexpr int kMostUnitsPaper = 500;
constexpr int kMostUnitsQuadratic = 2000;

// Compute falls and parameters grow towards the end, as in a CNN, in units of microseconds.
PhaseCosts CnnLike(Rng& rng, int units) {
  PhaseCosts costs{.compute = {}, .transfer = {}, .overhead = 5'000'000};
  for (int i = 0; i < units; ++i) {
    costs.compute.push_back(rng.Between(1, 2 * (units - i)) * 100'000);
    costs.transfer.push_back(rng.Between(1, 2 * (i + 1)) * 100'000);
  }
  return costs;
}

// Runs `plan` until it has been seen often enough to trust the median, or for too long.
int64_t MedianNs(const Clock& clock, const std::function<size_t()>& plan) {
  constexpr int64_t kPatienceNs = 400'000'000;
  constexpr size_t kMostRuns = 2001;
  std::vector<int64_t> times;
  volatile size_t segments = 0;  // keeps the plans from being optimised away
  const int64_t begin = clock.NowNs();
  while (times.size() < 3 || (times.size() < kMostRuns && clock.NowNs() - begin < kPatienceNs)) {
    const int64_t start = clock.NowNs();
    segments = segments + plan();
    times.push_back(clock.NowNs() - start);
  }
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

std::vector<PlannerTimes> BenchPlanners(const Clock& clock) {
  std::vector<PlannerTimes> rows;
  for (int units : kUnits) {
    Rng rng(2022, units);
    const PhaseCosts forward = CnnLike(rng, units);
    const PhaseCosts backward = sched::Reversed(CnnLike(rng, units));
    PlannerTimes row{.units = units};
    row.linear_ns = MedianNs(clock, [&] {
      return sched::PlanDynacommForward(forward).cuts.size() +
             sched::PlanDynacommBackward(backward).cuts.size();
    });
    if (units <= kMostUnitsQuadratic) {
      const std::vector<Nanos> P = sched::PrefixSums(forward.transfer);
      const std::vector<Nanos> G = sched::PrefixSums(backward.transfer);
      row.quadratic_ns = MedianNs(clock, [&] {
        const auto down = [&](int k, int m) { return forward.overhead + P[m] - P[k]; };
        const auto up = [&](int k, int m) { return backward.overhead + G[m] - G[k]; };
        return sched::PlanForwardByTable(forward.compute, down).cuts.size() +
               sched::PlanBackwardByTable(backward.compute, up).cuts.size();
      });
    }
    if (units <= kMostUnitsPaper) {
      row.paper_ns = MedianNs(clock, [&] {
        return sched::PlanDynacommPaperForward(forward).cuts.size() +
               sched::PlanDynacommPaperBackward(backward).cuts.size();
      });
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace weft::bench
