// SPDX-License-Identifier: Apache-2.0
#include "sched/phase.h"

#include "tests/sched/instances.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {

TEST_GROUP(Phase) {
  // Three units with numbers small enough to follow by hand.
  CostProfile profile{
      .units =
          {{.name = "a", .bytes = 1, .forward_ns = 5, .backward_ns = 7, .pull_ns = 2, .push_ns = 3},
           {"b", 1, 1, 2, 4, 6},
           {"c", 1, 3, 4, 1, 8}},
      .pull_overhead_ns = 10,
      .push_overhead_ns = 20};
};

TEST(Phase, ForwardTimeIsTheOneComputedByHand) {
  // One segment: 10 + 7 on the link, then 9 of computing.
  LONGLONGS_EQUAL(26, ForwardNs(ForwardPhase(profile), {0, 3}));
  // a: link 12, computed 17. b and c: link 12 + 10 + 5 = 27, computed 31.
  LONGLONGS_EQUAL(31, ForwardNs(ForwardPhase(profile), {0, 1, 3}));
  // a: 12, 17. b: link 26, computed 27. c: link 37, computed 40.
  LONGLONGS_EQUAL(40, ForwardNs(ForwardPhase(profile), {0, 1, 2, 3}));
}

TEST(Phase, BackwardRunsFromTheLastUnitToTheFirst) {
  // Computing 13, then 20 + 17 on the link.
  LONGLONGS_EQUAL(50, BackwardNs(BackwardPhase(profile), {0, 3}));
  // c is done at 4 and sent by 32; b and a are done at 13 and sent by 32 + 20 + 9.
  LONGLONGS_EQUAL(61, BackwardNs(BackwardPhase(profile), {0, 1, 3}));
}

TEST(Phase, BackwardCutsAreWrittenAsThePaperWritesThem) {
  CHECK((std::vector<int>{4, 1} == BackwardCutsAsUnits({0, 3})));
  CHECK((std::vector<int>{4, 3, 2, 1} == BackwardCutsAsUnits({0, 1, 2, 3})));
  CHECK((std::vector<int>{4, 3, 1} == BackwardCutsAsUnits({0, 1, 3})));
}

TEST(Phase, AForwardPlanTakesAsLongAsItsTimeReversal) {
  Rng rng(11);
  for (int round = 0; round < 2000; ++round) {
    const int length = static_cast<int>(rng.Between(1, 12));
    const PhaseCosts costs = RandomPhase(rng, length);
    Cuts cuts = {0};
    for (int i = 1; i < length; ++i) {
      if (rng.Between(0, 1) == 1) cuts.push_back(i);
    }
    cuts.push_back(length);
    LONGLONGS_EQUAL(ForwardNs(costs, cuts), BackwardNs(Reversed(costs), Reversed(cuts)));
  }
}

}  // namespace weft::sched
