// SPDX-License-Identifier: Apache-2.0
// Both greedies are written on prefix sums P (transfer) and C (compute). The sums grow with the
// cut, so "the best of all options" is always the first feasible one and a single pass finds it.
#include "sched/ibatch.h"

#include <algorithm>
#include <tuple>

#include "sched/baselines.h"

namespace weft::sched {

Cuts IbatchFromTheFront(const PhaseCosts& forward) {
  const int length = forward.length();
  const Nanos overhead = forward.overhead;
  const std::vector<Nanos> P = PrefixSums(forward.transfer);
  const std::vector<Nanos> C = PrefixSums(forward.compute);

  // Lines 1-4: the first cut d1 with the most computation before it that some second segment
  // still covers; of equals the least transferred, which is the smallest.
  int d1 = 0;
  for (int a = 1; a < length; ++a) {
    const bool covered = overhead + P[length] - P[a] >= C[a];
    if (covered && (d1 == 0 || C[a] > C[d1])) d1 = a;
  }
  if (d1 == 0) return SequentialCuts(length);

  // The shortest transfer after `m` that covers the computation of (n, m]; all the rest if none.
  const auto covering_end = [&](int n, int m) {
    for (int x = m + 1; x < length; ++x) {
      if (overhead + P[x] - P[m] >= C[m] - C[n]) return x;
    }
    return length;
  };
  Cuts cuts = {0, d1};
  while (cuts.back() != length) cuts.push_back(covering_end(cuts[cuts.size() - 2], cuts.back()));
  return cuts;
}

Cuts IbatchFromTheBack(const PhaseCosts& forward) {
  const int length = forward.length();
  const Nanos overhead = forward.overhead;
  const std::vector<Nanos> P = PrefixSums(forward.transfer);
  const std::vector<Nanos> C = PrefixSums(forward.compute);

  // Lines 1-4: the last two cuts (a, b) with the most computation between them that the last
  // segment covers; of equals the shortest last transfer, then the smallest a and b. For a given
  // b the smallest feasible a is best, and it only moves right as b grows.
  int best_a = -1;
  int best_b = -1;
  for (int a = 0, b = 1; b < length; ++b) {
    while (a < b && overhead + P[length] - P[b] < C[b] - C[a]) ++a;
    if (a == b) continue;
    if (best_b < 0) {
      best_a = a;
      best_b = b;
      continue;
    }
    const auto rank = [&](int x, int y) {
      return std::tuple(-(C[y] - C[x]), P[length] - P[y], x, y);
    };
    if (rank(a, b) < rank(best_a, best_b)) {
      best_a = a;
      best_b = b;
    }
  }
  if (best_b < 0) return SequentialCuts(length);

  // The most computation before `n` that the transfer of (n, m] covers; one unit if none.
  const auto covered_begin = [&](int n, int m) {
    const Nanos least = C[n] - (overhead + P[m] - P[n]);
    const auto x = std::lower_bound(C.begin(), C.begin() + n, least) - C.begin();
    return std::min(static_cast<int>(x), n - 1);
  };
  Cuts from_back = {length, best_b, best_a};
  while (from_back.back() != 0) {
    const int m = from_back[from_back.size() - 2];
    const int n = from_back.back();
    from_back.push_back(covered_begin(n, m));
  }
  return {from_back.rbegin(), from_back.rend()};
}

PhasePlan PlanIbatchForward(const PhaseCosts& forward) {
  PhasePlan front{IbatchFromTheFront(forward)};
  PhasePlan back{IbatchFromTheBack(forward)};
  front.ns = ForwardNs(forward, front.cuts);
  back.ns = ForwardNs(forward, back.cuts);
  const bool back_wins =
      std::tuple(back.ns, back.segments()) < std::tuple(front.ns, front.segments());
  return back_wins ? back : front;
}

}  // namespace weft::sched
