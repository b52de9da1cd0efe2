// SPDX-License-Identifier: Apache-2.0
// Everything is solved in the backward phase; a forward phase is reversed in time first.
#include "sched/dynacomm.h"

#include <algorithm>
#include <cassert>

namespace weft::sched {
namespace {

constexpr Nanos kNever = -1;

// The least time of the phase: B[m] = min over k of max(B[k], C[m]) + Δt + G[m] - G[k].
// B and B - G never fall, so with q the first k having B[k] > C[m] the minimum is at q-1 or at
// q, and q only moves right as m grows.
Nanos LeastBackwardNs(const std::vector<Nanos>& C, const std::vector<Nanos>& G, Nanos overhead) {
  const int length = static_cast<int>(C.size()) - 1;
  std::vector<Nanos> B(length + 1);
  B[0] = 0;
  int q = 1;
  for (int m = 1; m <= length; ++m) {
    while (q < m && B[q] <= C[m]) ++q;
    Nanos best = C[m] - G[q - 1];
    if (q < m) best = std::min(best, B[q] - G[q]);
    B[m] = best + overhead + G[m];
  }
  return B[length];
}

// The fewest segments that end by `deadline`, which must be reachable. From the end: the last
// segment of the first m positions starts no earlier than C[m] and should reach back as far as
// the deadline lets it, because every segment costs the rest one Δt however long it is.
Cuts FewestBackwardCuts(const std::vector<Nanos>& C, const std::vector<Nanos>& G, Nanos overhead,
                        Nanos deadline) {
  const int length = static_cast<int>(C.size()) - 1;
  Cuts cuts = {length};
  for (int m = length, k = length; m > 0; m = k) {
    while (k > 0 && C[m] + overhead + G[m] - G[k - 1] <= deadline) --k;
    assert(k < m);
    deadline -= overhead + G[m] - G[k];
    cuts.push_back(k);
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

// As FewestBackwardCuts for any cost table, where longest-first is not always best. latest[k] is
// the latest time by which the first k positions may be done so that the rest, in n segments,
// still meets the deadline; n grows until the start can be reached.
Cuts FewestBackwardCutsByTable(const std::vector<Nanos>& C, const SegmentCost& cost,
                               Nanos deadline) {
  const int length = static_cast<int>(C.size()) - 1;
  std::vector<std::vector<int>> next;  // [n][k]: where the first of the n last segments ends
  std::vector<Nanos> latest(length + 1, kNever);
  latest[length] = deadline;
  while (latest[0] == kNever) {
    assert(next.size() < static_cast<size_t>(length));
    std::vector<Nanos> earlier(length + 1, kNever);
    std::vector<int>& ends = next.emplace_back(length + 1, 0);
    for (int m = 1; m <= length; ++m) {
      if (latest[m] == kNever) continue;
      for (int k = 0; k < m; ++k) {
        const Nanos start = latest[m] - cost(k, m);
        if (start < C[m] || start <= earlier[k]) continue;
        earlier[k] = start;
        ends[k] = m;
      }
    }
    latest = std::move(earlier);
  }
  Cuts cuts = {0};
  for (auto ends = next.rbegin(); ends != next.rend(); ++ends) {
    cuts.push_back((*ends)[cuts.back()]);
  }
  return cuts;
}

}  // namespace

PhasePlan PlanDynacommBackward(const PhaseCosts& backward) {
  const std::vector<Nanos> C = PrefixSums(backward.compute);
  const std::vector<Nanos> G = PrefixSums(backward.transfer);
  const Nanos ns = LeastBackwardNs(C, G, backward.overhead);
  return {.cuts = FewestBackwardCuts(C, G, backward.overhead, ns), .ns = ns};
}

PhasePlan PlanDynacommForward(const PhaseCosts& forward) {
  const PhasePlan plan = PlanDynacommBackward(Reversed(forward));
  return {.cuts = Reversed(plan.cuts), .ns = plan.ns};
}

PhasePlan PlanBackwardByTable(const std::vector<Nanos>& compute, const SegmentCost& cost) {
  const int length = static_cast<int>(compute.size());
  const std::vector<Nanos> C = PrefixSums(compute);
  std::vector<Nanos> B(length + 1);
  B[0] = 0;
  for (int m = 1; m <= length; ++m) {
    B[m] = std::max(B[0], C[m]) + cost(0, m);
    for (int k = 1; k < m; ++k) B[m] = std::min(B[m], std::max(B[k], C[m]) + cost(k, m));
  }
  return {.cuts = FewestBackwardCutsByTable(C, cost, B[length]), .ns = B[length]};
}

PhasePlan PlanForwardByTable(const std::vector<Nanos>& compute, const SegmentCost& cost) {
  const int length = static_cast<int>(compute.size());
  const PhasePlan plan = PlanBackwardByTable({compute.rbegin(), compute.rend()}, [&](int k, int m) {
    return cost(length - m, length - k);
  });
  return {.cuts = Reversed(plan.cuts), .ns = plan.ns};
}

}  // namespace weft::sched
