// SPDX-License-Identifier: Apache-2.0
#include "sched/weave.h"

#include <algorithm>
#include <string>

#include "sched/strategy.h"
#include "tests/sched/instances.h"
#include "tests/sched/zoo_profile.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

CostProfile SmallRandomProfile(Rng& rng) {
  const int length = static_cast<int>(rng.Between(1, 12));
  const PhaseCosts down = RandomPhase(rng, length);
  const PhaseCosts up = RandomPhase(rng, length);
  CostProfile profile{.pull_overhead_ns = down.overhead * 1000,
                      .push_overhead_ns = up.overhead * 1000,
                      .latency_ns = rng.Between(0, 50) * 1000};
  for (int u = 0; u < length; ++u) {
    profile.units.push_back({.name = "u",
                             .bytes = down.transfer[u],
                             .forward_ns = down.compute[u] * 1000,
                             .backward_ns = up.compute[u] * 1000,
                             .pull_ns = down.transfer[u] * 1000,
                             .push_ns = down.transfer[u] * 1000});
  }
  return profile;
}

void CheckNearBound(const char* model) {
  for (int mbps : {50, 100, 200, 300, 500, 1000}) {
    const CostProfile profile = ZooProfile(model, EdgeSetting(mbps));
    const Nanos weave = PlanIteration(Strategy::kWeave, profile).value().iteration_ns;
    const double share = static_cast<double>(IterationBound(profile)) / static_cast<double>(weave);
    UT_PRINT(StringFromFormat("%s %d Mb/s: %.1f %% of the bound", model, mbps, 100 * share)
                 .asCharString());
    CHECK_TRUE(share >= 0.95);
    CHECK_TRUE(share <= 1.0);
  }
}

}  // namespace

TEST_GROUP(Weave){};

TEST(Weave, Vgg19ReachesNineteenTwentiethsOfItsBound) { CheckNearBound("vgg19"); }

TEST(Weave, Resnet152ReachesNineteenTwentiethsOfItsBound) { CheckNearBound("resnet152"); }

TEST(Weave, IsNeverSlowerThanDynacommNorFasterThanItsBound) {
  Rng rng(61);
  int faster = 0;
  for (int round = 0; round < 150; ++round) {
    const CostProfile profile = SmallRandomProfile(rng);
    const Nanos weave = PlanIteration(Strategy::kWeave, profile).value().iteration_ns;
    const Nanos dynacomm = PlanIteration(Strategy::kDynacomm, profile).value().iteration_ns;
    CHECK_TRUE(weave <= dynacomm);
    CHECK_TRUE(weave >= IterationBound(profile));
    faster += weave < dynacomm;
  }
  CHECK_TRUE(faster > 75);
}

TEST(Weave, TheBoundIsComputingAndARoundTripOrOneDirection) {
  CostProfile profile{.units = {{"a", 1, 10, 20, 30, 40}, {"b", 1, 1, 2, 3, 4}},
                      .pull_overhead_ns = 100,
                      .push_overhead_ns = 200,
                      .latency_ns = 1000};
  LONGLONGS_EQUAL(33 + 1000 + 300, IterationBound(profile));  // computing and one round trip
  profile.latency_ns = 0;
  profile.units[0].push_ns = 5000;
  LONGLONGS_EQUAL(5004 + 200, IterationBound(profile));  // all pushes
  profile.units[1].pull_ns = 9000;
  LONGLONGS_EQUAL(9030 + 100, IterationBound(profile));  // all pulls
}

TEST(Weave, OneOrderForTheFleetKeepsUnequalWorkersTogether) {
  const CostProfile profile = ZooProfile("resnet152", EdgeSetting(100));
  const WeavePlan plan = PlanWeave(profile);
  std::vector<int> sorted = plan.push_order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) LONGS_EQUAL(i, sorted[i]);
  LONGS_EQUAL(plan.slices.size(), sorted.size());

  const JobSetting fleet{.workers = 32, .rounds = 8, .spread_percent = 20};
  const Nanos each_its_own =
      Simulate(profile, ScheduleSlices(profile, plan.slices), fleet).iteration_ns;
  const Nanos together =
      Simulate(profile, ScheduleSlices(profile, plan.slices, plan.push_order), fleet).iteration_ns;
  // Left to choose for themselves they send different slices first, and few are ever complete.
  CHECK_TRUE(together * 115 < each_its_own * 100);
}

TEST(Weave, OneHugeUnitWithoutOverheadIsCutIntoNoMoreThanAThousandSlices) {
  CostProfile profile{.units = {{"fc", 400'000'000, 10, 20, 400'000'000, 400'000'000}}};
  CHECK_TRUE(PlanWeave(profile).slices.size() <= 1024);
}

TEST(Weave, AModelWithoutBytesIsPlannedToo) {
  CostProfile profile{.units = {{"a", 0, 10, 20, 0, 0}}, .pull_overhead_ns = 1};
  LONGLONGS_EQUAL(31, PlanIteration(Strategy::kWeave, profile).value().iteration_ns);
}

}  // namespace weft::sched
