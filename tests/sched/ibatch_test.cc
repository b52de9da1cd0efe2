// SPDX-License-Identifier: Apache-2.0
// iBatch's greedies against the paper's text, read literally: all pairs enumerated, all options
// listed, no use of the sums being monotone.
#include "sched/ibatch.h"

#include <tuple>

#include "tests/sched/instances.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

Nanos Sum(const std::vector<Nanos>& values, int from, int to) {
  Nanos sum = 0;
  for (int i = from; i < to; ++i) sum += values[i];
  return sum;
}

Cuts LiteralAlgorithm1(const PhaseCosts& c) {
  const int L = c.length();
  std::vector<std::tuple<Nanos, Nanos, Nanos, int, int>> pairs;  // in the order of preference
  for (int a = 1; a < L; ++a) {
    for (int b = a + 1; b <= L; ++b) {
      if (c.overhead + Sum(c.transfer, a, b) < Sum(c.compute, 0, a)) continue;
      pairs.emplace_back(-Sum(c.compute, 0, a), Sum(c.transfer, 0, a), Sum(c.transfer, a, b), b, a);
    }
  }
  if (pairs.empty()) return {0, L};
  const auto first = *std::min_element(pairs.begin(), pairs.end());
  int n = std::get<4>(first);
  int m = std::get<3>(first);
  Cuts cuts = {0, n, m};
  while (m != L) {
    int j = L;
    Nanos least = -1;
    for (int x = m + 1; x <= L; ++x) {
      const Nanos excess = c.overhead + Sum(c.transfer, m, x) - Sum(c.compute, n, m);
      if (excess < 0 || (least >= 0 && excess >= least)) continue;
      least = excess;
      j = x;
    }
    n = m;
    m = j;
    cuts.push_back(m);
  }
  return cuts;
}

Cuts LiteralAlgorithm2(const PhaseCosts& c) {
  const int L = c.length();
  std::vector<std::tuple<Nanos, Nanos, int, int>> pairs;
  for (int b = 1; b < L; ++b) {
    for (int a = 0; a < b; ++a) {
      if (c.overhead + Sum(c.transfer, b, L) < Sum(c.compute, a, b)) continue;
      pairs.emplace_back(-Sum(c.compute, a, b), Sum(c.transfer, b, L), a, b);
    }
  }
  if (pairs.empty()) return {0, L};
  const auto last = *std::min_element(pairs.begin(), pairs.end());
  int n = std::get<2>(last);
  int m = std::get<3>(last);
  Cuts cuts = {n, m, L};
  while (n != 0) {
    int j = n - 1;
    Nanos least = -1;
    for (int x = 0; x < n; ++x) {
      const Nanos excess = c.overhead + Sum(c.transfer, n, m) - Sum(c.compute, x, n);
      if (excess < 0 || (least >= 0 && excess >= least)) continue;
      least = excess;
      j = x;
    }
    m = n;
    n = j;
    cuts.insert(cuts.begin(), n);
  }
  return cuts;
}

}  // namespace

TEST_GROUP(Ibatch){};

TEST(Ibatch, BothGreediesFollowThePaperLineByLine) {
  Rng rng(21);
  for (int round = 0; round < 4000; ++round) {
    const PhaseCosts costs = RandomPhase(rng, static_cast<int>(rng.Between(1, 14)));
    CHECK(LiteralAlgorithm1(costs) == IbatchFromTheFront(costs));
    CHECK(LiteralAlgorithm2(costs) == IbatchFromTheBack(costs));
  }
}

TEST(Ibatch, TakesTheBetterOfItsTwoGreedies) {
  Rng rng(22);
  int front_won = 0;
  int back_won = 0;
  for (int round = 0; round < 1000; ++round) {
    const PhaseCosts costs = RandomPhase(rng, static_cast<int>(rng.Between(2, 20)));
    const Nanos front = ForwardNs(costs, IbatchFromTheFront(costs));
    const Nanos back = ForwardNs(costs, IbatchFromTheBack(costs));
    LONGLONGS_EQUAL(std::min(front, back), PlanIbatchForward(costs).ns);
    front_won += front < back;
    back_won += back < front;
  }
  CHECK_TRUE(front_won > 0 && back_won > 0);
}

TEST(Ibatch, FallsBackToOneSegmentWhereNothingCanBeCovered) {
  // The first unit computes for longer than everything else takes to arrive.
  const PhaseCosts costs{.compute = {100, 1}, .transfer = {1, 1}, .overhead = 0};
  CHECK((Cuts{0, 2} == IbatchFromTheFront(costs)));
}

}  // namespace weft::sched
