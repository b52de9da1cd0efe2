// SPDX-License-Identifier: Apache-2.0
// dynacomm and the paper's algorithms against every possible plan, and against each other where
// there are too many plans to try.
#include "sched/dynacomm.h"

#include "sched/baselines.h"
#include "sched/dynacomm_paper.h"
#include "sched/ibatch.h"
#include "tests/sched/instances.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

using Planner = PhasePlan (*)(const PhaseCosts&);
using Pricer = Nanos (*)(const PhaseCosts&, const Cuts&);

void CheckAgainstBruteForce(uint64_t seed, Planner planner, Pricer pricer) {
  Rng rng(seed);
  for (int round = 0; round < 4000; ++round) {
    const PhaseCosts costs = RandomPhase(rng, static_cast<int>(rng.Between(1, 9)));
    const BruteForce best =
        TryAllCuts(costs.length(), [&](const Cuts& cuts) { return pricer(costs, cuts); });
    const PhasePlan plan = planner(costs);
    LONGLONGS_EQUAL(best.least_ns, plan.ns);
    LONGLONGS_EQUAL(plan.ns, pricer(costs, plan.cuts));
    LONGS_EQUAL(best.fewest_segments, plan.segments());
  }
}

SegmentCost AffineCost(const PhaseCosts& costs, const std::vector<Nanos>& sums) {
  return [&costs, &sums](int k, int m) { return costs.overhead + sums[m] - sums[k]; };
}

}  // namespace

TEST_GROUP(Dynacomm){};

TEST(Dynacomm, ForwardIsTheBestOfAllPlansInTheFewestSegments) {
  CheckAgainstBruteForce(1, PlanDynacommForward, ForwardNs);
}

TEST(Dynacomm, BackwardIsTheBestOfAllPlansInTheFewestSegments) {
  CheckAgainstBruteForce(2, PlanDynacommBackward, BackwardNs);
}

TEST(Dynacomm, PaperForwardIsTheBestOfAllPlansInTheFewestSegments) {
  CheckAgainstBruteForce(3, PlanDynacommPaperForward, ForwardNs);
}

TEST(Dynacomm, PaperBackwardIsTheBestOfAllPlansInTheFewestSegments) {
  CheckAgainstBruteForce(4, PlanDynacommPaperBackward, BackwardNs);
}

TEST(Dynacomm, LinearQuadraticAndCubicAgreeOnLargeInstances) {
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    const PhaseCosts costs = RandomPhase(rng, static_cast<int>(rng.Between(10, 90)));
    const std::vector<Nanos> sums = PrefixSums(costs.transfer);
    const PhasePlan forward = PlanDynacommForward(costs);
    const PhasePlan forward_table = PlanForwardByTable(costs.compute, AffineCost(costs, sums));
    const PhasePlan forward_paper = PlanDynacommPaperForward(costs);
    LONGLONGS_EQUAL(forward_paper.ns, forward.ns);
    LONGLONGS_EQUAL(forward_paper.ns, forward_table.ns);
    LONGS_EQUAL(forward_paper.segments(), forward.segments());
    LONGS_EQUAL(forward_paper.segments(), forward_table.segments());
    const PhasePlan backward = PlanDynacommBackward(costs);
    const PhasePlan backward_table = PlanBackwardByTable(costs.compute, AffineCost(costs, sums));
    const PhasePlan backward_paper = PlanDynacommPaperBackward(costs);
    LONGLONGS_EQUAL(backward_paper.ns, backward.ns);
    LONGLONGS_EQUAL(backward_paper.ns, backward_table.ns);
    LONGS_EQUAL(backward_paper.segments(), backward.segments());
    LONGS_EQUAL(backward_paper.segments(), backward_table.segments());
  }
}

TEST(Dynacomm, LinearEqualsQuadraticOnThousandsOfUnits) {
  Rng rng(6);
  for (int round = 0; round < 4; ++round) {
    const PhaseCosts costs = RandomPhase(rng, static_cast<int>(rng.Between(500, 1200)));
    const std::vector<Nanos> sums = PrefixSums(costs.transfer);
    LONGLONGS_EQUAL(PlanBackwardByTable(costs.compute, AffineCost(costs, sums)).ns,
                    PlanDynacommBackward(costs).ns);
    LONGLONGS_EQUAL(PlanForwardByTable(costs.compute, AffineCost(costs, sums)).ns,
                    PlanDynacommForward(costs).ns);
  }
}

TEST(Dynacomm, AnyCostTableIsPlannedExactlyInTheFewestSegments) {
  Rng rng(7);
  for (int round = 0; round < 1500; ++round) {
    const int length = static_cast<int>(rng.Between(1, 8));
    std::vector<Nanos> compute;
    for (int i = 0; i < length; ++i) compute.push_back(rng.Between(0, 20));
    std::vector<std::vector<Nanos>> table(length + 1, std::vector<Nanos>(length + 1));
    for (auto& row : table) {
      for (Nanos& cost : row) cost = rng.Between(0, 60);
    }
    const SegmentCost cost = [&](int k, int m) { return table[k][m]; };
    const auto backward_time = [&](const Cuts& cuts) {
      Nanos computed = 0;
      Nanos link_free = 0;
      for (size_t j = 1; j < cuts.size(); ++j) {
        for (int i = cuts[j - 1]; i < cuts[j]; ++i) computed += compute[i];
        link_free = std::max(link_free, computed) + cost(cuts[j - 1], cuts[j]);
      }
      return link_free;
    };
    const auto forward_time = [&](const Cuts& cuts) {
      Nanos computed = 0;
      Nanos link_free = 0;
      for (size_t j = 1; j < cuts.size(); ++j) {
        link_free += cost(cuts[j - 1], cuts[j]);
        computed = std::max(computed, link_free);
        for (int i = cuts[j - 1]; i < cuts[j]; ++i) computed += compute[i];
      }
      return computed;
    };
    const BruteForce best_backward = TryAllCuts(length, backward_time);
    const PhasePlan backward = PlanBackwardByTable(compute, cost);
    LONGLONGS_EQUAL(best_backward.least_ns, backward.ns);
    LONGLONGS_EQUAL(backward.ns, backward_time(backward.cuts));
    LONGS_EQUAL(best_backward.fewest_segments, backward.segments());
    const BruteForce best_forward = TryAllCuts(length, forward_time);
    const PhasePlan forward = PlanForwardByTable(compute, cost);
    LONGLONGS_EQUAL(best_forward.least_ns, forward.ns);
    LONGLONGS_EQUAL(forward.ns, forward_time(forward.cuts));
    LONGS_EQUAL(best_forward.fewest_segments, forward.segments());
  }
}

TEST(Dynacomm, IsNeverBeatenByTheOtherStrategies) {
  Rng rng(8);
  int lbl_worse = 0;
  int ibatch_worse = 0;
  for (int round = 0; round < 4000; ++round) {
    const int length = static_cast<int>(rng.Between(1, 60));
    const PhaseCosts costs = RandomPhase(rng, length);
    const Nanos forward = PlanDynacommForward(costs).ns;
    const Nanos backward = PlanDynacommBackward(costs).ns;
    const Nanos lbl_forward = ForwardNs(costs, LayerByLayerCuts(length));
    const Nanos lbl_backward = BackwardNs(costs, LayerByLayerCuts(length));
    const Nanos ibatch = PlanIbatchForward(costs).ns;
    CHECK_TRUE(forward <= lbl_forward && forward <= ibatch);
    CHECK_TRUE(forward <= ForwardNs(costs, SequentialCuts(length)));
    CHECK_TRUE(backward <= lbl_backward);
    CHECK_TRUE(backward <= BackwardNs(costs, SequentialCuts(length)));
    lbl_worse += lbl_forward > forward;
    ibatch_worse += ibatch > forward;
  }
  // The claim would be empty if the others were always as good.
  CHECK_TRUE(lbl_worse > 1000);
  CHECK_TRUE(ibatch_worse > 1000);
}

TEST(Dynacomm, FindsWhatMgWfbpsGreedyMergingMisses) {
  // The counterexample of docs/scheduling.md: merging the first two gradients looks good pairwise
  // and ends at 9; leaving the first alone ends at 8.
  const PhaseCosts costs{.compute = {1, 1, 2}, .transfer = {1, 1, 1}, .overhead = 2};
  LONGLONGS_EQUAL(9, BackwardNs(costs, {0, 2, 3}));
  const PhasePlan plan = PlanDynacommBackward(costs);
  LONGLONGS_EQUAL(8, plan.ns);
  CHECK((Cuts{0, 1, 3} == plan.cuts));
}

TEST(Dynacomm, OneUnitIsOneSegment) {
  const PhaseCosts costs{.compute = {5}, .transfer = {7}, .overhead = 3};
  LONGLONGS_EQUAL(15, PlanDynacommForward(costs).ns);
  CHECK((Cuts{0, 1} == PlanDynacommForward(costs).cuts));
  CHECK((Cuts{0, 1} == PlanDynacommPaperBackward(costs).cuts));
}

TEST(Dynacomm, CostsOfZeroNeedOneSegment) {
  const PhaseCosts costs{.compute = {0, 0, 0}, .transfer = {0, 0, 0}, .overhead = 0};
  LONGLONGS_EQUAL(0, PlanDynacommForward(costs).ns);
  LONGS_EQUAL(1, PlanDynacommForward(costs).segments());
  LONGS_EQUAL(1, PlanDynacommBackward(costs).segments());
}

}  // namespace weft::sched
