// SPDX-License-Identifier: Apache-2.0
#include "sched/hop_chain.h"

#include "sched/dynacomm.h"
#include "tests/sched/instances.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {

TEST_GROUP(HopChain){};

TEST(HopChain, BackwardIsTheBestOfAllPlansInTheFewestSegments) {
  Rng rng(31);
  for (int round = 0; round < 1200; ++round) {
    const ChainCosts costs =
        RandomChain(rng, static_cast<int>(rng.Between(1, 8)), static_cast<int>(rng.Between(1, 3)));
    const BruteForce best =
        TryAllCuts(costs.length(), [&](const Cuts& cuts) { return BackwardChainNs(costs, cuts); });
    const PhasePlan plan = PlanBackwardChain(costs);
    LONGLONGS_EQUAL(best.least_ns, plan.ns);
    LONGLONGS_EQUAL(plan.ns, BackwardChainNs(costs, plan.cuts));
    LONGS_EQUAL(best.fewest_segments, plan.segments());
  }
}

TEST(HopChain, ForwardIsTheBestOfAllPlansInTheFewestSegments) {
  Rng rng(32);
  for (int round = 0; round < 1200; ++round) {
    const ChainCosts costs =
        RandomChain(rng, static_cast<int>(rng.Between(1, 8)), static_cast<int>(rng.Between(1, 3)));
    const BruteForce best =
        TryAllCuts(costs.length(), [&](const Cuts& cuts) { return ForwardChainNs(costs, cuts); });
    const PhasePlan plan = PlanForwardChain(costs);
    LONGLONGS_EQUAL(best.least_ns, plan.ns);
    LONGLONGS_EQUAL(plan.ns, ForwardChainNs(costs, plan.cuts));
    LONGS_EQUAL(best.fewest_segments, plan.segments());
  }
}

TEST(HopChain, WithOneHopIsDynacomm) {
  Rng rng(33);
  for (int round = 0; round < 200; ++round) {
    const PhaseCosts phase = RandomPhase(rng, static_cast<int>(rng.Between(1, 40)));
    const ChainCosts chain{.compute = phase.compute,
                           .hops = {{.transfer = phase.transfer, .overhead = phase.overhead}}};
    LONGLONGS_EQUAL(PlanDynacommForward(phase).ns, PlanForwardChain(chain).ns);
    LONGLONGS_EQUAL(PlanDynacommBackward(phase).ns, PlanBackwardChain(chain).ns);
    LONGS_EQUAL(PlanDynacommBackward(phase).segments(), PlanBackwardChain(chain).segments());
  }
}

TEST(HopChain, KnowingOfTheSecondHopIsWorthSomething) {
  // Two equal hops: a plan made for one sends long segments that the second hop must wait for.
  const PhaseCosts phase{.compute = {1, 1, 1, 1, 1, 1, 1, 1},
                         .transfer = {40, 40, 40, 40, 40, 40, 40, 40},
                         .overhead = 1};
  const Hop hop{.transfer = phase.transfer, .overhead = phase.overhead};
  const ChainCosts chain{.compute = phase.compute, .hops = {hop, hop}};
  const Nanos oblivious = BackwardChainNs(chain, PlanDynacommBackward(phase).cuts);
  CHECK_TRUE(PlanBackwardChain(chain).ns * 3 < oblivious * 2);
}

}  // namespace weft::sched
