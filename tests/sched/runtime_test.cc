// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "sched/baselines.h"
#include "sched/runtime/link_fit.h"
#include "sched/runtime/profiler.h"
#include "sched/runtime/transfer_scheduler.h"
#include "sched/runtime/transfers.h"
#include "tests/sched/virtual_link.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

constexpr int64_t kUs = 1000;

// Segments of these sizes, one right behind the other, over a line of 12.5 MB/s (80 ns a byte) with
// 300 us for each. `noticed(time)` is when the receiver takes notice.
template <typename Noticed>
LinkFit FitOf(const std::vector<int64_t>& sizes, const Noticed& noticed) {
  LinkFit fit;
  int64_t now = 5'000'000'000;
  fit.Add({.bytes = 1000, .at_ns = noticed(now)});
  for (const int64_t bytes : sizes) {
    now += 300 * kUs + 80 * bytes;
    fit.Add({.bytes = bytes, .at_ns = noticed(now), .follows = true});
  }
  fit.EndRound();
  return fit;
}

std::vector<int64_t> ManySizes(int count) {
  std::vector<int64_t> sizes;
  Rng rng(7);
  for (int i = 0; i < count; ++i) sizes.push_back(int64_t{1000} << rng.Between(0, 8));
  return sizes;
}

void CheckWithin(double expected, double actual, double share) {
  if (std::abs(actual - expected) <= share * expected) return;
  FAIL((std::to_string(actual) + " is not within " + std::to_string(100 * share) + " % of " +
        std::to_string(expected))
           .c_str());
}

CostProfile SomeProfile() {
  CostProfile profile{
      .pull_overhead_ns = 5 * kNsPerMs, .push_overhead_ns = 5 * kNsPerMs, .latency_ns = kNsPerMs};
  for (int u = 0; u < 6; ++u) {
    const int64_t bytes = 40'000 * (u + 1);
    profile.units.push_back({.name = "u" + std::to_string(u),
                             .bytes = bytes,
                             .forward_ns = (7 - u) * kNsPerMs,
                             .backward_ns = 2 * (7 - u) * kNsPerMs,
                             .pull_ns = 80 * bytes,
                             .push_ns = 80 * bytes});
  }
  return profile;
}

// A device that computes as the profile says, over a virtual link.
class Device {
 public:
  explicit Device(Strategy strategy, int64_t replan_rounds = 1000, int64_t message_bytes = 1 << 30,
                  size_t keep_rounds = 0)
      : profile_(SomeProfile()),
        memory_(1'000'000, 0.0f),
        link(clock, FloatsOf(profile_), {profile_.push_overhead_ns, 80}, profile_.latency_ns / 2),
        scheduler({.strategy = strategy,
                   .replan_rounds = replan_rounds,
                   .message_bytes = message_bytes,
                   .keep_rounds = keep_rounds},
                  UnitsOf(), link, clock) {
    link.message_bytes = message_bytes;
    link.by_slices = strategy == Strategy::kWeave;
  }

  void Round() {
    scheduler.BeginStep(round_);
    for (int u = 0; u < profile_.unit_count(); ++u) {
      scheduler.BeforeForward(u);
      clock.now += profile_.units[static_cast<size_t>(u)].forward_ns;
    }
    scheduler.EndForward();
    for (int u = profile_.unit_count() - 1; u >= 0 && !scheduler.Abandoned(); --u) {
      clock.now += profile_.units[static_cast<size_t>(u)].backward_ns;
      scheduler.AfterBackward(u);
    }
    scheduler.EndStep();
    if (!scheduler.Abandoned()) ++round_;
  }
  void Rounds(int count) {
    for (int i = 0; i < count; ++i) Round();
  }
  // Rounds until `condition`, which may wait for another thread.
  template <typename Condition>
  void Until(const Condition& condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < give_up) Round();
    CHECK(condition());
  }

 private:
  static std::vector<int64_t> FloatsOf(const CostProfile& profile) {
    std::vector<int64_t> floats;
    for (const UnitCost& unit : profile.units) floats.push_back(unit.bytes / 4);
    return floats;
  }
  std::vector<TransferScheduler::Unit> UnitsOf() {
    std::vector<TransferScheduler::Unit> units;
    for (const UnitCost& unit : profile_.units) {
      units.push_back({.name = unit.name,
                       .gradients = std::span(memory_).first(static_cast<size_t>(unit.bytes / 4))});
    }
    return units;
  }

  const CostProfile profile_;
  std::vector<float> memory_;
  int64_t round_ = 0;

 public:
  HandClock clock;
  VirtualLink link;
  TransferScheduler scheduler;
};

}  // namespace

TEST_GROUP(LinkFit){};

TEST(LinkFit, TellsTheFixedCostFromTheRate) {
  const auto cost = FitOf(ManySizes(200), [](int64_t t) { return t; }).Fit();
  CHECK(cost.has_value());
  CheckWithin(300 * kUs, static_cast<double>(cost->overhead_ns), 0.02);
  CheckWithin(12'500'000, static_cast<double>(cost->bytes_per_s), 0.01);
}

// A thread that wakes every few milliseconds notices several arrivals at once.
TEST(LinkFit, AReceiverThatNoticesLateDoesNotMatterMuch) {
  const std::vector<int64_t> sizes = ManySizes(800);
  const auto cost =
      FitOf(sizes, [](int64_t t) { return t / (4 * kNsPerMs) * (4 * kNsPerMs); }).Fit();
  int64_t expected = 0;
  int64_t fitted = 0;
  for (const int64_t bytes : sizes) {
    expected += 300 * kUs + 80 * bytes;
    fitted += cost->Of(bytes);
  }
  CheckWithin(static_cast<double>(expected), static_cast<double>(fitted), 0.03);
}

TEST(LinkFit, AReconnectDoesNotMatter) {
  int64_t lost = 0;
  Rng rng(3);
  const auto cost = FitOf(ManySizes(300), [&](int64_t t) {
                      if (rng.Between(0, 60) == 0) lost += 3'000 * kNsPerMs;
                      return t + lost;
                    }).Fit();
  CheckWithin(300 * kUs, static_cast<double>(cost->overhead_ns), 0.2);
  CheckWithin(12'500'000, static_cast<double>(cost->bytes_per_s), 0.1);
}

TEST(LinkFit, WithOneSizeTheTimeOfThatSizeIsRight) {
  const auto cost = FitOf(std::vector<int64_t>(100, 50'000), [](int64_t t) { return t; }).Fit();
  CheckWithin(300 * kUs + 80 * 50'000, static_cast<double>(cost->Of(50'000)), 0.001);
}

TEST(LinkFit, WhatDidNotFollowDoesNotCount) {
  LinkFit fit;
  for (int i = 0; i < 100; ++i) {
    fit.Add({.bytes = 1000 * (i % 7 + 1), .at_ns = i * 999'999});
  }
  fit.EndRound();
  CHECK_FALSE(fit.Fit().has_value());
}

TEST(LinkFit, WhatIsOldIsForgottenWhenEnoughCameSince) {
  LinkFit fit = FitOf(ManySizes(100), [](int64_t t) { return t; });
  for (int i = 0; i < 10; ++i) fit.EndRound();
  CheckWithin(12'500'000, static_cast<double>(fit.Fit()->bytes_per_s), 0.05);  // nothing since
  int64_t now = 500'000'000'000;
  fit.Add({.bytes = 1000, .at_ns = now});
  for (const int64_t bytes : ManySizes(100)) {
    now += 300 * kUs + 160 * bytes;
    fit.Add({.bytes = bytes, .at_ns = now, .follows = true});
  }
  fit.EndRound();
  CheckWithin(6'250'000, static_cast<double>(fit.Fit()->bytes_per_s), 0.05);
}

// Of a model of 575 MB, with the other direction busy only in its first half. The sums are exact,
// but for the first segment of a round, which says nothing.
TEST(LinkFit, StandsForWholeRoundsHoweverManySegmentsTheyHave) {
  constexpr int64_t kBytes = 131'072;
  constexpr int kSegments = 4400;
  LinkFit fit;
  int64_t now = 5'000'000'000;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kSegments; ++i) {
      now += 300 * kUs + (i < kSegments / 2 ? 160 : 80) * kBytes;
      fit.Add({.bytes = kBytes, .at_ns = now, .follows = i > 0});
    }
    fit.EndRound();
    CheckWithin(300 * kUs + 120 * kBytes, static_cast<double>(fit.Fit()->Of(kBytes)), 0.001);
  }
}

// Large ones and small ones in turn, of which some thousands must not leave out one kind.
TEST(LinkFit, TellsTheFixedCostFromTheRateOfThousandsOfSegments) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < 3000; ++i) {
    sizes.insert(sizes.end(), 8, 100'000);
    sizes.insert(sizes.end(), 8, 10'000);
  }
  const auto cost = FitOf(sizes, [](int64_t t) { return t; }).Fit();
  CheckWithin(300 * kUs, static_cast<double>(cost->overhead_ns), 0.02);
  CheckWithin(12'500'000, static_cast<double>(cost->bytes_per_s), 0.01);
}

TEST(LinkFit, AReconnectInALongRoundDoesNotMatter) {
  int64_t segments = 0;
  const auto cost = FitOf(std::vector<int64_t>(4400, 131'072), [&](int64_t t) {
                      return t + (++segments > 1000 ? 9'000 * kNsPerMs : 0);
                    }).Fit();
  CheckWithin(300 * kUs + 80 * 131'072, static_cast<double>(cost->Of(131'072)), 0.005);
}

TEST_GROUP(Profiler){};

// Units of 1000, 1001 and three of 400 bytes, in messages of 1000, over a link of 300 us and 80 ns
// a byte.
TEST(Profiler, EachUnitPaysForItsMessagesAndSmallOnesTogetherForTheirs) {
  Profiler profiler({{"a", 1000}, {"b", 1001}, {"c", 400}, {"d", 400}, {"e", 400}, {"f", 0}}, 1000);
  int64_t now = 0;
  for (const int64_t bytes : ManySizes(100)) {
    now += 300 * kUs + 80 * bytes;
    for (const bool up : {false, true}) {
      profiler.Add({.up = up, .bytes = bytes, .at_ns = now, .follows = true});
    }
  }
  profiler.EndRound(std::vector<Nanos>(6, kNsPerMs), std::vector<Nanos>(6, kNsPerMs), 0);
  const CostProfile profile = *profiler.Profile();
  const Nanos more = profile.push_overhead_ns;
  CheckWithin(300 * kUs, static_cast<double>(more), 0.02);
  const int64_t rate = profiler.up()->bytes_per_s;
  LONGLONGS_EQUAL(TransferNs(1000, rate), profile.units[0].push_ns);
  LONGLONGS_EQUAL(TransferNs(1001, rate) + more, profile.units[1].push_ns);
  LONGLONGS_EQUAL(TransferNs(400, rate), profile.units[2].pull_ns);
  LONGLONGS_EQUAL(0, profile.units[5].pull_ns);

  // Pulled as 1000, 1001 + 400 and 800 bytes: b pays for the second message of its segment anyway.
  // Pushed as c to f, 1200 bytes and so two messages, and a and b, 2001 bytes and three.
  const IterationPlan plan{.strategy = Strategy::kDynacomm,
                           .forward = {.cuts = {0, 1, 3, 6}},
                           .backward = {.cuts = {0, 4, 6}}};
  const CostProfile cut = *profiler.ProfileOf(plan);
  for (size_t u = 0; u < 6; ++u) {
    LONGLONGS_EQUAL(profile.units[u].pull_ns, cut.units[u].pull_ns);
    const Nanos together = u == 0 || u == 2 ? more : 0;
    LONGLONGS_EQUAL(profile.units[u].push_ns + together, cut.units[u].push_ns);
  }
}

TEST_GROUP(UnitTimes){};

TEST(UnitTimes, AreMediansAndTheFirstRoundIsOnlyAStopgap) {
  UnitTimes times(2);
  times.Add(std::vector<Nanos>{900, 800}, std::vector<Nanos>{700, 600});
  CHECK((times.Forward() == std::vector<Nanos>{900, 800}));
  times.Add(std::vector<Nanos>{9, 8}, std::vector<Nanos>{7, 6});
  CHECK((times.Forward() == std::vector<Nanos>{9, 8}));
  for (const Nanos t : {11, 13, 500, 12}) {
    times.Add(std::vector<Nanos>{t, t}, std::vector<Nanos>{t, t});
  }
  CHECK((times.Forward() == std::vector<Nanos>{12, 12}));
  CHECK((times.Backward() == std::vector<Nanos>{12, 12}));
}

TEST_GROUP(Transfers){};

TEST(Transfers, SegmentsAreInFloatsAndLeaveAsTheyAreReady) {
  const CostProfile profile = SomeProfile();  // 10, 20, 30, 40, 50, 60 thousand floats
  const IterationPlan plan{.strategy = Strategy::kDynacomm,
                           .forward = {.cuts = {0, 2, 6}},
                           .backward = {.cuts = {0, 1, 4, 6}}};
  const TransferPlan transfers = TransfersOf(profile, plan);
  CHECK((transfers.pull_ends == std::vector<int64_t>{30'000, 210'000}));
  CHECK((transfers.push_ends == std::vector<int64_t>{30'000, 150'000, 210'000}));
  CHECK(transfers.push_turns[2] < transfers.push_turns[1]);
  CHECK(transfers.push_turns[1] < transfers.push_turns[0]);
}

TEST(Transfers, SlicesCoverEverythingOnceInTheFleetsOrder) {
  const CostProfile profile = SomeProfile();
  const IterationPlan plan = PlanIteration(Strategy::kWeave, profile).value();
  CHECK(plan.weave.has_value());
  const TransferPlan transfers = TransfersOf(profile, plan);
  CHECK_EQUAL(plan.weave->slices.size(), transfers.push_ends.size());
  CHECK_EQUAL(210'000, transfers.push_ends.back());
  CHECK(transfers.push_ends == transfers.pull_ends);
  CHECK_EQUAL(0, transfers.push_turns[static_cast<size_t>(plan.weave->push_order.front())]);
}

TEST_GROUP(TransferScheduler){};

// The closed form, the planner and the link agree to the nanosecond; what is left is the rate as a
// whole number of bytes. Until both directions' segments have told Δt from the rate, it is a guess.
TEST(TransferScheduler, WhatItPredictsIsWhatHappens) {
  for (const Strategy strategy :
       {Strategy::kLayerByLayer, Strategy::kIbatch, Strategy::kDynacomm}) {
    Device device(strategy);
    device.Rounds(4);
    for (int round = 4; round < 10; ++round) {
      device.Round();
      const RoundReport& report = device.scheduler.report();
      CheckWithin(static_cast<double>(report.total_ns), static_cast<double>(report.predicted_ns),
                  0.002);
      CHECK(report.bound_ns <= report.total_ns);
    }
    const Nanos best = PlanIteration(strategy, SomeProfile())->iteration_ns;
    CheckWithin(static_cast<double>(best), static_cast<double>(device.scheduler.report().total_ns),
                0.002);
  }
}

// Where everything is cut into messages, all but the last of a segment are of one size, and so Δt
// is not told from the rate: the time of a whole message is right, of the last one it is not. There
// are 52 of them.
TEST(TransferScheduler, WhatItPredictsOfSequentialIsWhatHappens) {
  Device device(Strategy::kSequential, 1000, 16'384);
  device.Rounds(8);
  const RoundReport& report = device.scheduler.report();
  CHECK_EQUAL(1, report.push_segments);
  CheckWithin(static_cast<double>(report.total_ns), static_cast<double>(report.predicted_ns), 0.02);
  CHECK(report.bound_ns <= report.total_ns);
}

// The simulator lets the clock stand where this link does, and takes slices of whole floats.
TEST(TransferScheduler, WhatItPredictsOfWeaveIsWhatHappens) {
  Device device(Strategy::kWeave, 1);
  device.Until([&] { return device.link.plans > 3; });  // the first ones knew too little
  device.Rounds(20);
  const RoundReport& report = device.scheduler.report();
  CheckWithin(static_cast<double>(report.total_ns), static_cast<double>(report.predicted_ns), 0.01);
  const Nanos best = PlanIteration(Strategy::kWeave, SomeProfile())->iteration_ns;
  CheckWithin(static_cast<double>(best), static_cast<double>(report.total_ns), 0.01);
  CHECK(report.bound_ns <= report.total_ns);
}

// Not what would have been a good guess with hindsight.
TEST(TransferScheduler, WhatARoundWasPredictedToTakeWasKnownBeforeItBegan) {
  Device device(Strategy::kDynacomm, 3);
  for (int round = 0; round < 20; ++round) {
    if (round == 10) device.link.cost = {8 * kNsPerMs, 130};
    const std::optional<CostProfile> profile = device.scheduler.profile();
    const Nanos expected = profile ? IterationNs(*profile, device.scheduler.plan()) : 0;
    const Nanos bound = profile ? IterationBound(*profile) : 0;
    device.Round();
    LONGLONGS_EQUAL(expected, device.scheduler.report().predicted_ns);
    LONGLONGS_EQUAL(bound, device.scheduler.report().bound_ns);
  }
  CHECK(device.scheduler.report().predicted_ns > 0);
}

// Weave's price of the plan in force follows the link although the plan itself stays.
TEST(TransferScheduler, WeavesPlanIsPricedAnewWhenTheLinkChangesALittle) {
  Device device(Strategy::kWeave, INT64_MAX);
  const auto priced = [&] {
    const std::optional<CostProfile> profile = device.scheduler.profile();
    const IterationPlan& plan = device.scheduler.plan();
    return plan.iteration_ns > 0 &&
           device.scheduler.report().predicted_ns == IterationNs(*profile, plan);
  };
  device.Until(priced);
  device.Rounds(20);
  device.Until(priced);
  const Nanos before = device.scheduler.report().predicted_ns;
  device.link.cost = {5 * kNsPerMs, 86};  // less than a tenth: no reason for another plan
  device.Rounds(5);
  device.Until(priced);
  CHECK(device.scheduler.report().predicted_ns > before + before / 100);
}

TEST(TransferScheduler, PlansPullsAfterBackwardAndPushesWhileItWaits) {
  Device device(Strategy::kDynacomm);
  device.Rounds(1);
  CHECK_EQUAL(1, device.link.plans);  // unit by unit
  CHECK_EQUAL(6u, device.link.plan().pull_ends.size());
  device.Round();
  CHECK_FALSE(device.scheduler.report().planned);
  CHECK_EQUAL(6, device.scheduler.report().pull_segments);
  device.Round();  // both directions have been seen; the end of it plans the pulls
  CHECK(device.scheduler.report().planned);
  const int pulls = device.scheduler.report().pull_segments;
  CHECK(pulls < 6);
  CHECK_EQUAL(6, device.scheduler.report().push_segments);
  device.Round();
  CHECK(device.scheduler.report().push_segments < 6);
  CHECK_EQUAL(static_cast<size_t>(pulls), device.link.plan().pull_ends.size());
}

TEST(TransferScheduler, PlansAnewWhenTheLinkChanges) {
  Device device(Strategy::kDynacomm);
  device.Rounds(8);
  const int plans = device.link.plans;
  device.Rounds(20);
  CHECK_EQUAL(plans, device.link.plans);  // nothing has changed
  device.link.cost = {20 * kNsPerMs, 160};
  device.Rounds(12);
  CHECK(device.link.plans > plans);
  CostProfile slower = SomeProfile();
  slower.pull_overhead_ns = slower.push_overhead_ns = 20 * kNsPerMs;
  for (UnitCost& unit : slower.units) unit.pull_ns = unit.push_ns = 160 * unit.bytes;
  const Nanos best = PlanIteration(Strategy::kDynacomm, slower)->iteration_ns;
  CheckWithin(static_cast<double>(best), static_cast<double>(device.scheduler.report().total_ns),
              0.02);
}

// Its plans are made on another thread, for which rounds are quick: what is waited for is that
// plan.
TEST(TransferScheduler, WeavePlansAnewWhenTheRateIsHalved) {
  Device device(Strategy::kWeave, INT64_MAX);
  device.Until([&] { return device.link.plans > 0; });
  device.Rounds(20);
  device.link.cost.ns_per_byte *= 2;
  CostProfile slower = SomeProfile();
  for (UnitCost& unit : slower.units) unit.pull_ns = unit.push_ns = 160 * unit.bytes;
  const auto best = static_cast<double>(PlanIteration(Strategy::kWeave, slower)->iteration_ns);
  const auto is_best = [&](Nanos time) {
    return std::abs(static_cast<double>(time) - best) < 0.1 * best;
  };
  device.Until([&] {
    return is_best(device.scheduler.plan().iteration_ns) &&
           is_best(device.scheduler.report().total_ns);
  });
}

TEST(TransferScheduler, PlansAnewEverySoManyRounds) {
  Device device(Strategy::kDynacomm, 5);
  device.Rounds(8);
  const int plans = device.link.plans;
  device.Rounds(10);
  CHECK(device.link.plans >= plans + 3);  // pulls and pushes each
}

TEST(TransferScheduler, PlansAnewWhenAnEpochIsOver) {
  Device device(Strategy::kDynacomm);
  device.Rounds(8);
  const int plans = device.link.plans;
  device.scheduler.PlanAnew();
  device.Rounds(4);
  CHECK_EQUAL(plans + 2, device.link.plans);  // pulls and pushes, once
}

// Elsewhere than where the server's slices end, both halves of one would have to be there before
// anything comes back.
TEST(TransferScheduler, SlicesEndWhereTheServersDo) {
  Device device(Strategy::kWeave);
  for (int64_t end = 7'000; end < 210'000; end += 7'000) device.link.slice_ends.push_back(end);
  device.link.slice_ends.push_back(210'000);
  device.Until([&] { return device.link.plans > 0; });
  device.Round();
  CHECK(device.link.plan().push_ends.size() > 1);
  for (const int64_t end : device.link.plan().push_ends) CHECK_EQUAL(0, end % 7'000);
  CHECK(device.link.plan().pull_ends == device.link.plan().push_ends);
  CHECK_EQUAL(device.link.plan().push_ends.size(), device.scheduler.report().push_segments);
}

TEST(TransferScheduler, FixedStrategiesNeverChangeTheirCuts) {
  for (const Strategy strategy : {Strategy::kSequential, Strategy::kLayerByLayer}) {
    Device device(strategy, 2);
    device.Rounds(10);
    CHECK_EQUAL(1, device.link.plans);
  }
}

TEST(TransferScheduler, TheTimelineAddsUp) {
  const CostProfile profile = SomeProfile();
  Device device(Strategy::kDynacomm);
  device.Rounds(10);
  const RoundReport& report = device.scheduler.report();
  LONGLONGS_EQUAL(report.total_ns, report.portions.total_ns());
  Nanos compute = 0;
  for (const UnitCost& unit : profile.units) compute += unit.forward_ns + unit.backward_ns;
  LONGLONGS_EQUAL(compute, report.portions.computing_alone_ns + report.portions.overlapping_ns);
  CHECK(report.portions.overlapping_ns > 0);
}

TEST(TransferScheduler, ARoundThatIsNotOursAnyMoreIsAbandoned) {
  Device device(Strategy::kDynacomm);
  device.Rounds(4);
  const int64_t round = device.scheduler.report().round;
  device.link.gone = true;
  device.Round();
  CHECK(device.scheduler.Abandoned());
  CHECK_EQUAL(round, device.scheduler.report().round);
  device.link.gone = false;
  device.Round();
  CHECK_FALSE(device.scheduler.Abandoned());
}

// Its plans are made on another thread, and taken up when they are there.
TEST(TransferScheduler, WeaveUsesItsPlanWhenItIsMade) {
  Device device(Strategy::kWeave, 1);
  device.Until([&] { return device.link.plans >= 2; });
  CHECK(device.scheduler.plan().weave.has_value());
  device.Rounds(2);
  CHECK_EQUAL(210'000, device.link.plan().push_ends.back());
}

}  // namespace weft::sched
