// SPDX-License-Identifier: Apache-2.0
// Random scheduling problems of many kinds, and every way to cut a small one: the oracle that the
// planners are held against.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/rng.h"
#include "sched/hop_chain.h"
#include "sched/phase.h"

namespace weft::sched {

// Small numbers make ties, heavy tails make bottlenecks, sorted ones look like a CNN.
inline PhaseCosts RandomPhase(Rng& rng, int length) {
  const Nanos highest[] = {3, 10, 100, 1000};
  const Nanos high = highest[rng.Between(0, 3)];
  const int64_t kind = rng.Between(0, 3);
  const auto draw = [&]() -> Nanos {
    if (kind == 0) return rng.Between(0, high);
    if (kind == 1) return rng.Between(1, high);
    const double f = rng.Fraction();
    return static_cast<Nanos>(static_cast<double>(high) * f * f * f * f) + 1;
  };
  PhaseCosts costs;
  for (int i = 0; i < length; ++i) {
    costs.compute.push_back(draw());
    costs.transfer.push_back(draw());
  }
  if (kind == 3) {
    std::sort(costs.compute.begin(), costs.compute.end(), std::greater<>());
    std::sort(costs.transfer.begin(), costs.transfer.end());
  }
  const Nanos overheads[] = {0, 1, rng.Between(0, high), rng.Between(0, 3 * high)};
  costs.overhead = overheads[rng.Between(0, 3)];
  return costs;
}

inline ChainCosts RandomChain(Rng& rng, int length, int hops) {
  ChainCosts chain;
  for (int h = 0; h < hops; ++h) {
    PhaseCosts phase = RandomPhase(rng, length);
    if (h == 0) chain.compute = std::move(phase.compute);
    chain.hops.push_back({.transfer = std::move(phase.transfer), .overhead = phase.overhead});
  }
  return chain;
}

struct BruteForce {
  Nanos least_ns = 0;
  int fewest_segments = 0;
};

// Tries all 2^(L-1) plans.
inline BruteForce TryAllCuts(int length, const std::function<Nanos(const Cuts&)>& time_of) {
  BruteForce best{.least_ns = -1, .fewest_segments = 0};
  for (unsigned mask = 0; mask < 1u << (length - 1); ++mask) {
    Cuts cuts = {0};
    for (int i = 1; i < length; ++i) {
      if (mask >> (i - 1) & 1) cuts.push_back(i);
    }
    cuts.push_back(length);
    const Nanos ns = time_of(cuts);
    const int segments = static_cast<int>(cuts.size()) - 1;
    if (best.least_ns < 0 || ns < best.least_ns) best = {ns, segments};
    if (ns == best.least_ns) best.fewest_segments = std::min(best.fewest_segments, segments);
  }
  return best;
}

}  // namespace weft::sched
