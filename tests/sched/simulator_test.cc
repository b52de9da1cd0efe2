// SPDX-License-Identifier: Apache-2.0
#include "sched/simulator.h"

#include <algorithm>

#include "core/rng.h"
#include "sched/hop_chain.h"
#include "sched/strategy.h"
#include "tests/sched/instances.h"
#include "tests/sched/zoo_profile.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

CostProfile RandomProfile(Rng& rng, int length) {
  const PhaseCosts down = RandomPhase(rng, length);
  const PhaseCosts up = RandomPhase(rng, length);
  CostProfile profile{.pull_overhead_ns = down.overhead,
                      .push_overhead_ns = up.overhead,
                      .latency_ns = rng.Between(0, 50)};
  for (int u = 0; u < length; ++u) {
    profile.units.push_back({.name = "u",
                             .bytes = rng.Between(0, 1000),
                             .forward_ns = down.compute[u],
                             .backward_ns = up.compute[u],
                             .pull_ns = down.transfer[u],
                             .push_ns = up.transfer[u]});
  }
  if (rng.Between(0, 1) == 1) {
    profile.broker = {.overhead_ns = rng.Between(0, 20), .bytes_per_s = rng.Between(1, 100) << 24};
  }
  return profile;
}

Cuts RandomCuts(Rng& rng, int length) {
  Cuts cuts = {0};
  for (int i = 1; i < length; ++i) {
    if (rng.Between(0, 2) == 0) cuts.push_back(i);
  }
  cuts.push_back(length);
  return cuts;
}

}  // namespace

TEST_GROUP(Simulator){};

TEST(Simulator, EqualsTheClosedFormToTheNanosecondForAnySegments) {
  Rng rng(51);
  int with_broker = 0;
  for (int round = 0; round < 2000; ++round) {
    const int length = static_cast<int>(rng.Between(1, 15));
    const CostProfile profile = RandomProfile(rng, length);
    const Cuts forward = RandomCuts(rng, length);
    const Cuts backward = RandomCuts(rng, length);
    const Nanos forward_ns = ForwardChainNs(ForwardChain(profile), forward);
    const Nanos backward_ns = BackwardChainNs(BackwardChain(profile), backward);
    const SimReport report = Simulate(profile, ScheduleSegments(profile, forward, backward),
                                      {.workers = 1, .rounds = 4});
    LONGLONGS_EQUAL(forward_ns, report.forward_ns);
    LONGLONGS_EQUAL(backward_ns, report.backward_ns);
    LONGLONGS_EQUAL(forward_ns + backward_ns + profile.latency_ns, report.iteration_ns);
    with_broker += profile.broker.has_value();
  }
  CHECK_TRUE(with_broker > 500);
}

TEST(Simulator, EqualWorkersTakeAsLongAsOne) {
  Rng rng(52);
  for (int round = 0; round < 200; ++round) {
    const int length = static_cast<int>(rng.Between(1, 10));
    CostProfile profile = RandomProfile(rng, length);
    profile.broker.reset();  // the one thing workers share
    const Schedule schedule =
        ScheduleSegments(profile, RandomCuts(rng, length), RandomCuts(rng, length));
    const Nanos alone = Simulate(profile, schedule, {.workers = 1, .rounds = 3}).iteration_ns;
    LONGLONGS_EQUAL(alone, Simulate(profile, schedule, {.workers = 7, .rounds = 3}).iteration_ns);
  }
}

TEST(Simulator, TheSlowestWorkerSetsThePace) {
  const CostProfile profile = ZooProfile("lenet5", EdgeSetting(10));
  const Schedule schedule = ScheduleSegments(profile, {0, 5}, {0, 5});
  const Nanos equal = Simulate(profile, schedule, {.workers = 50, .rounds = 2}).iteration_ns;
  const Nanos spread =
      Simulate(profile, schedule, {.workers = 50, .rounds = 2, .spread_percent = 30}).iteration_ns;
  CHECK_TRUE(spread > equal * 12 / 10);
  CHECK_TRUE(spread <= equal * 13 / 10 + 1);
}

TEST(Simulator, WorkersShareTheBroker) {
  // 10 units of 1000 bytes over a hop of 1 byte/ns: 10 us a worker each way, and nothing else.
  // The first worker's push follows its pull at once, so the directions overlap but for one.
  CostProfile profile;
  for (int u = 0; u < 10; ++u) profile.units.push_back({.name = "u", .bytes = 1000});
  profile.broker = {.overhead_ns = 0, .bytes_per_s = 1'000'000'000};
  const Schedule schedule = ScheduleSegments(profile, {0, 10}, {0, 10});
  for (int workers : {1, 2, 8}) {
    LONGLONGS_EQUAL(10'000 * (workers + 1),
                    Simulate(profile, schedule, {.workers = workers, .rounds = 1}).iteration_ns);
  }
}

TEST(Simulator, TheServerSumsAtItsOwnRate) {
  CostProfile profile;
  profile.units.push_back({.name = "u", .bytes = 1000});
  const Schedule schedule = ScheduleSegments(profile, {0, 1}, {0, 1});
  LONGLONGS_EQUAL(4000, Simulate(profile, schedule,
                                 {.workers = 4, .rounds = 1, .server_bytes_per_s = 1'000'000'000})
                            .iteration_ns);
}

TEST(Simulator, RefusesJobsWhoseTimesWouldOverflow) {
  const CostProfile profile = ZooProfile("vgg19", EdgeSetting(100));
  CHECK_TRUE(CheckJob(profile, {.workers = 1000}).ok());
  CHECK_FALSE(CheckJob(profile, {.workers = 1000, .server_bytes_per_s = 1}).ok());
  CostProfile brokered = profile;
  brokered.broker = {.overhead_ns = 0, .bytes_per_s = 10'000};
  CHECK_TRUE(CheckJob(brokered, {.workers = 1}).ok());
  CHECK_FALSE(CheckJob(brokered, {.workers = 100'000}).ok());
}

TEST(Simulator, PortionsAddUpToThePhases) {
  const CostProfile profile = ZooProfile("resnet18", EdgeSetting(100));
  for (Strategy strategy : JobStrategies()) {
    const IterationPlan plan = PlanIteration(strategy, profile).value();
    const SimReport report = Simulate(profile, ScheduleOf(profile, plan), {});
    LONGLONGS_EQUAL(report.forward_ns, report.forward.total_ns());
    LONGLONGS_EQUAL(report.backward_ns, report.backward.total_ns());
  }
}

TEST(Simulator, EveryLaneDoesOneThingAtATime) {
  const CostProfile profile = ZooProfile("resnet18", EdgeSetting(100));
  for (Strategy strategy : JobStrategies()) {
    const IterationPlan plan = PlanIteration(strategy, profile).value();
    SimReport report = Simulate(profile, ScheduleOf(profile, plan), {.workers = 3, .rounds = 4});
    const auto check_lane = [&](auto in_lane) {
      std::vector<Span> lane;
      std::copy_if(report.timeline.begin(), report.timeline.end(), std::back_inserter(lane),
                   in_lane);
      std::sort(lane.begin(), lane.end(), [](const Span& a, const Span& b) {
        return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
      });
      CHECK_TRUE(lane.size() > 3);
      for (size_t i = 1; i < lane.size(); ++i) {
        CHECK_TRUE(lane[i - 1].end_ns <= lane[i].begin_ns);
      }
    };
    check_lane([](const Span& s) { return s.lane == Lane::kPush; });
    check_lane([](const Span& s) { return s.lane == Lane::kPull; });
    check_lane([](const Span& s) { return s.lane == Lane::kForward || s.lane == Lane::kBackward; });
  }
}

TEST(Simulator, NoForwardStartsBeforeItsParametersAreThere) {
  const CostProfile profile = ZooProfile("resnet18", EdgeSetting(100));
  for (Strategy strategy : JobStrategies()) {
    const IterationPlan plan = PlanIteration(strategy, profile).value();
    const SimReport report = Simulate(profile, ScheduleOf(profile, plan), {.rounds = 5});
    for (const Span& compute : report.timeline) {
      if (compute.lane != Lane::kForward) continue;
      for (const Span& pull : report.timeline) {
        if (pull.lane != Lane::kPull || pull.round != compute.round) continue;
        if (compute.first_unit < pull.first_unit || compute.first_unit > pull.last_unit) continue;
        CHECK_TRUE(pull.end_ns <= compute.begin_ns);
      }
    }
  }
}

TEST(Simulator, RunsAThousandWorkersForTwentyRounds) {
  const CostProfile profile = ZooProfile("vgg19", EdgeSetting(100));
  const IterationPlan plan = PlanIteration(Strategy::kDynacomm, profile).value();
  const SimReport report =
      Simulate(profile, ScheduleOf(profile, plan), {.workers = 1000, .rounds = 20});
  LONGS_EQUAL(20, report.commits_ns.size());
  LONGLONGS_EQUAL(plan.iteration_ns, report.iteration_ns);
}

TEST(Simulator, SameInputSameNanosecond) {
  const CostProfile profile = ZooProfile("googlenet", EdgeSetting(50));
  const IterationPlan plan = PlanIteration(Strategy::kWeave, profile).value();
  const JobSetting job{.workers = 9, .rounds = 6, .spread_percent = 40, .seed = 3};
  const SimReport one = Simulate(profile, ScheduleOf(profile, plan), job);
  const SimReport two = Simulate(profile, ScheduleOf(profile, plan), job);
  CHECK(one.commits_ns == two.commits_ns);
  LONGLONGS_EQUAL(one.events, two.events);
}

}  // namespace weft::sched
