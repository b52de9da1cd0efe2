// SPDX-License-Identifier: Apache-2.0
// The server's rules one by one: who takes part, when a round closes, what comes out of it, and
// what survives. Faults F5-F11, F17.
#include "cloud_ps/server.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "core/clock.h"
#include "core/rng.h"
#include "net/codec/codec.h"
#include "tests/ps/server_driver.h"

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

using net::Reason;

ServerSetting With(int workers, int quorum) {
  ServerSetting setting = ServerDriver::Usual();
  setting.workers = workers;
  setting.quorum = quorum;
  return setting;
}

// One float after the other, as torch.optim.SGD with momentum 0.9, weight decay 1e-4 and a rate of
// 0.05 would move it; the statistics of unit b become their mean.
struct Naive {
  std::vector<float> values;
  std::vector<float> momentum = std::vector<float>(19, 0.0f);

  Naive() {
    for (int64_t i = 0; i < 19; ++i) values.push_back(ServerDriver::FirstValue(i));
  }
  void Step(const std::vector<Contribution>& contributions, int64_t round) {
    std::vector<float> sum(19, 0.0f);
    float weights = 0;
    for (const Contribution& c : contributions) {
      const std::vector<float> g = ServerDriver::Gradients(c.worker, round);
      weights += static_cast<float>(c.weight);
      for (size_t i = 0; i < 19; ++i) sum[i] += static_cast<float>(c.weight) * g[i];
    }
    for (size_t i = 0; i < 19; ++i) {
      const float mean = contributions.size() == 1
                             ? ServerDriver::Gradients(contributions[0].worker, round)[i]
                             : sum[i] / weights;
      if (i >= 12 && i < 15) {
        values[i] = mean;
        continue;
      }
      const float g = mean + 1e-4f * values[i];
      momentum[i] = round == 0 ? g : 0.9f * momentum[i] + g;
      values[i] -= 0.05f * momentum[i];
    }
  }
};

// The naive step is rounded in another order than the optimizer's.
void CheckClose(const std::vector<float>& expected, const std::vector<float>& values) {
  CHECK_EQUAL(expected.size(), values.size());
  for (size_t i = 0; i < expected.size(); ++i) DOUBLES_EQUAL(expected[i], values[i], 1e-6);
}

// Three workers that join in this order and push every round, the last first.
std::vector<float> RunToEnd(const ServerSetting& setting) {
  ServerDriver driver(setting);
  for (const char* worker : {"w3", "w1", "w2"}) driver.Join(worker);
  for (int64_t round = 0; round < setting.welcome.rounds; ++round) {
    for (const char* worker : {"w2", "w3", "w1"}) driver.Push(worker, round);
  }
  CHECK(driver.server().finished());
  return driver.values();
}

}  // namespace

TEST_GROUP(ServerRounds){};

TEST(ServerRounds, OneWorkersStepIsTheOptimizersStep) {
  ServerDriver driver;
  CHECK_EQUAL(0, driver.Join("w1"));
  Naive naive;
  for (int64_t round = 0; round < 5; ++round) {
    driver.Push("w1", round);
    CHECK_EQUAL(round + 1, driver.server().round());
    naive.Step({{"w1", 8}}, round);
    CheckClose(naive.values, driver.values());
  }
}

TEST(ServerRounds, GradientsCountByBatchSizeAndStatisticsAreAveraged) {
  ServerDriver driver(With(2, 2));
  driver.Join("w1", 1, 10);
  driver.Join("w2", 1, 30);
  driver.Push("w2", 0);
  CHECK_EQUAL(0, driver.server().round());
  driver.Push("w1", 0);
  CHECK_EQUAL(1, driver.server().round());
  Naive naive;
  naive.Step({{"w1", 10}, {"w2", 30}}, 0);
  CheckClose(naive.values, driver.values());
  CHECK_EQUAL(1u, driver.keeper.records.size());
  const std::vector<Contribution> expected = {{"w1", 10}, {"w2", 30}};
  CHECK(driver.keeper.records[0].contributions == expected);
}

// F9, F10: any order, any number of copies.
TEST(ServerRounds, AnyOrderOfArrivalAndAnyCopiesGiveTheSameBits) {
  ServerSetting setting = With(3, 3);
  setting.welcome.segment_bytes = 12;
  for (const int64_t slice_floats : {0, 4}) {
    setting.slice_floats = slice_floats;
    std::vector<float> expected;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      ServerDriver driver(setting);
      for (const char* worker : {"w1", "w2", "w3"}) driver.Join(worker);
      struct Arrival {
        std::string worker;
        net::Segment segment;
      };
      std::map<std::string, std::vector<float>> floats;
      std::vector<Arrival> arrivals;
      Rng rng(seed);
      for (const char* worker : {"w1", "w2", "w3"}) {
        floats[worker] = ServerDriver::Gradients(worker, 0);
        for (const net::Segment& segment : driver.Segments(worker, floats[worker])) {
          for (int64_t copies = seed == 0 ? 1 : rng.Between(1, 3); copies > 0; --copies) {
            arrivals.push_back({worker, segment});
          }
        }
      }
      for (size_t i = arrivals.size(); i > 1 && seed > 0; --i) {
        std::swap(arrivals[i - 1],
                  arrivals[static_cast<size_t>(rng.Between(0, static_cast<int64_t>(i) - 1))]);
      }
      for (const Arrival& a : arrivals) driver.PushSegment(a.worker, 0, a.segment);
      CHECK_EQUAL(1, driver.server().round());
      if (seed == 0) expected = driver.values();
      CHECK(SameBits(expected, driver.values()));
    }
  }
}

TEST(ServerRounds, SlicesOfAnySizeGiveTheSameBits) {
  const std::vector<float> expected = RunToEnd(With(3, 3));
  for (int64_t floats = 1; floats <= 20; ++floats) {
    ServerSetting setting = With(3, 3);
    setting.slice_floats = floats;
    CHECK(SameBits(expected, RunToEnd(setting)));
  }
}

TEST(ServerRounds, TwoServersGiveTheSameBitsAsOne) {
  const std::vector<float> expected = RunToEnd(With(3, 3));
  std::vector<float> joined;
  for (int shard = 0; shard < 2; ++shard) {
    ServerSetting setting = With(3, 3);
    setting.shard = shard;
    setting.shards = 2;
    const std::vector<float> part = RunToEnd(setting);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  CHECK(SameBits(expected, joined));
}

TEST(ServerRounds, ADuplicateChangesNothingAndIsAcknowledged) {
  ServerDriver driver(With(2, 2));
  driver.Join("w1");
  driver.Join("w2");
  const std::vector<float> floats = ServerDriver::Gradients("w1", 0);
  std::vector<float> others(19, 7.0f);  // a copy is not looked at
  for (const auto& from : {floats, others, floats}) {
    driver.ForgetHeard();
    driver.PushSegment("w1", 0, driver.Segments("w1", from)[0]);
    const auto acks = driver.HeardOf<net::Ack>("w1");
    CHECK_EQUAL(1u, acks.size());
    CHECK((acks[0].sequences == std::vector<uint64_t>{1}));
  }
  CHECK_EQUAL(1, driver.server().status().segments_taken);
  CHECK_EQUAL(2, driver.server().status().segments_doubled);
  driver.Push("w1", 0);
  driver.Push("w2", 0);
  Naive naive;
  naive.Step({{"w1", 8}, {"w2", 8}}, 0);
  CheckClose(naive.values, driver.values());
  // The round is over, and a late copy of what it has is still acknowledged.
  const std::vector<float> values = driver.values();
  driver.ForgetHeard();
  driver.PushSegment("w1", 0, driver.Segments("w1", floats)[0]);
  CHECK_EQUAL(1u, driver.HeardOf<net::Ack>("w1").size());
  CHECK(SameBits(values, driver.values()));
}

TEST(ServerRounds, SegmentsMayOverlapInPart) {
  ServerDriver driver;
  driver.Join("w1");
  const std::vector<float> floats = ServerDriver::Gradients("w1", 0);
  const std::pair<int64_t, int64_t> parts[] = {{3, 9}, {0, 5}, {8, 19}, {4, 12}};
  uint64_t sequence = 0;
  for (const auto& [begin, end] : parts) {
    driver.PushSegment("w1", 0, driver.SegmentOf("w1", ++sequence, floats, 0, 2, begin, end));
  }
  CHECK_EQUAL(1, driver.server().round());
  Naive naive;
  naive.Step({{"w1", 8}}, 0);
  CheckClose(naive.values, driver.values());
}

TEST(ServerRounds, EveryWorkerIsSentAllOfTheNextVersion) {
  ServerDriver driver;
  driver.Join("w1");
  driver.ForgetHeard();
  driver.Push("w1", 0);
  std::vector<float> received(19, std::numeric_limits<float>::quiet_NaN());
  for (const net::Message& message : driver.Heard("w1")) {
    const auto* segment = std::get_if<net::Segment>(&message.body);
    if (segment == nullptr) continue;
    CHECK_EQUAL(1, message.header.round);
    CHECK(segment->data.size() <= 64);
    const int64_t units = segment->first_unit == 0 ? 0 : segment->first_unit == 1 ? 5 : 15;
    std::memcpy(reinterpret_cast<std::byte*>(received.data() + units) + segment->offset,
                segment->data.data(), segment->data.size());
  }
  CHECK(SameBits(driver.values(), received));
}

TEST(ServerRounds, TheJobEndsAfterItsRoundsAndSaysSo) {
  ServerDriver driver;
  driver.Join("w1");
  for (int64_t round = 0; round < 5; ++round) driver.Push("w1", round);
  CHECK(driver.server().finished());
  uint64_t acks = 0;
  for (int i = 0; i < 3 && !driver.server().done(); ++i) {
    for (const auto& segment : driver.HeardOf<net::Segment>("w1")) {
      driver.Say("w1", net::Lane::kControl,
                 {driver.HeaderOf("w1", 5),
                  net::Ack{.ticket = segment.ticket, .sequences = {segment.sequence}}});
      ++acks;
    }
    driver.Pass(100 * kNsPerMs);
  }
  CHECK(acks > 0);
  CHECK(driver.server().done());
  const auto goodbyes = driver.HeardOf<net::Goodbye>("w1");
  CHECK_EQUAL(1u, goodbyes.size());
  CHECK(goodbyes[0].kind == net::GoodbyeKind::kDone);
  CHECK_EQUAL(5, driver.keeper.states.back().round);
  // Who asks later is told the same.
  driver.Hello("w9");
  CHECK(driver.HeardOf<net::Goodbye>("w9")[0].kind == net::GoodbyeKind::kDone);
}

// A model of 240 MB takes 20 s at 100 Mb/s; workers were told that all was done after 10.
TEST(ServerRounds, ASlowLinkIsWaitedForAsLongAsItTakesSomethingOfTheLastVersion) {
  ServerDriver driver;
  driver.Join("w1");
  for (int64_t round = 0; round < 5; ++round) driver.Push("w1", round);
  CHECK(driver.server().finished());
  std::vector<net::Segment> last;
  for (const net::Message& message : driver.Heard("w1")) {
    const auto* segment = std::get_if<net::Segment>(&message.body);
    if (segment != nullptr && message.header.round == 5) last.push_back(*segment);
  }
  CHECK_EQUAL(2u, last.size());
  const auto seconds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 5), net::Heartbeat{}});
      driver.Pass(kNsPerSecond);
    }
  };
  for (const net::Segment& segment : last) {
    seconds(8);
    CHECK_FALSE(driver.server().done());
    driver.Say("w1", net::Lane::kControl,
               {driver.HeaderOf("w1", 5),
                net::Ack{.ticket = segment.ticket, .sequences = {segment.sequence}}});
  }
  seconds(1);
  CHECK(driver.server().done());
}

TEST(ServerRounds, WhoTakesNothingOfTheLastVersionDoesNotKeepTheServer) {
  ServerDriver driver;
  driver.Join("w1");
  for (int64_t round = 0; round < 5; ++round) driver.Push("w1", round);
  for (int i = 0; i < 12; ++i) {
    driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 5), net::Heartbeat{}});
    driver.Pass(kNsPerSecond);
  }
  CHECK(driver.server().done());
}

TEST_GROUP(ServerTime){};

namespace {

// Whether the server, asked when it says that it has something to do, does something each time.
void CheckSleeps(ServerDriver& driver, int64_t ns) {
  for (const int64_t end = driver.clock.now + ns; driver.clock.now < end;) {
    driver.server().Tick();
    CHECK(driver.server().next_tick_ns() > driver.clock.now);
    driver.clock.now = driver.server().next_tick_ns();
  }
}

}  // namespace

TEST(ServerTime, WithoutABrokerItSleepsWhateverIsUnanswered) {
  ServerDriver driver;
  driver.Join("w1");
  CHECK_FALSE(driver.HeardOf<net::Segment>("w1").empty());
  driver.server().Disconnected(Status::Unavailable("it went away"));
  CheckSleeps(driver, 60 * kNsPerSecond);
  driver.server().Connected({.payload_bytes = 1 << 20});
  CHECK_FALSE(driver.HeardOf<net::Segment>("w1").empty());  // again
  CheckSleeps(driver, 60 * kNsPerSecond);
}

TEST(ServerTime, ForAWorkerThatIsNotListenedToAnyMoreNothingIsDue) {
  ServerSetting setting = ServerDriver::Usual();
  setting.workers = 2;
  ServerDriver driver(setting);
  driver.Join("good");
  driver.Join("evil");  // and it never takes its parameters
  const std::vector<std::byte> noise(50, std::byte{1});
  for (int i = 0; i < 100; ++i) driver.SayBytes("weft/job/evil/push", noise);
  driver.ForgetHeard();
  CheckSleeps(driver, 60 * kNsPerSecond);
  CHECK(driver.HeardOf<net::Segment>("evil").empty());
}

TEST_GROUP(ServerPlans){};

namespace {

// Begin and end in floats of the model, in the order sent.
std::vector<std::pair<int64_t, int64_t>> PlacesOf(const std::vector<net::Segment>& segments) {
  const net::WireLayout layout = *net::WireLayout::Create({{"a", 5, 0}, {"b", 7, 3}, {"c", 4, 0}});
  std::vector<std::pair<int64_t, int64_t>> places;
  for (const net::Segment& segment : segments) {
    const int64_t begin = layout.Units(static_cast<int>(segment.first_unit), 2).begin +
                          static_cast<int64_t>(segment.offset / 4);
    places.emplace_back(begin, begin + static_cast<int64_t>(segment.data.size() / 4));
  }
  return places;
}

using Places = std::vector<std::pair<int64_t, int64_t>>;

void SayPlan(ServerDriver& driver, int64_t round, std::vector<uint64_t> ends) {
  driver.Say("w1", net::Lane::kControl,
             {driver.HeaderOf("w1", round), net::Plan{.ticket = 1, .ends = std::move(ends)}});
}

ServerSetting Sliced(bool whole_versions) {
  ServerSetting setting = ServerDriver::Usual();
  setting.slice_floats = 4;
  setting.whole_versions = whole_versions;
  return setting;
}

}  // namespace

TEST(ServerPlans, ParametersComeCutAsAskedForFromTheNextVersionOn) {
  ServerDriver driver(Sliced(false));
  driver.Join("w1");
  driver.ForgetHeard();
  SayPlan(driver, 0, {3, 13, 19});
  CHECK(driver.HeardOf<net::Segment>("w1").empty());  // it has what it asked for first
  driver.Push("w1", 0);
  Places places = PlacesOf(driver.HeardOf<net::Segment>("w1"));
  std::sort(places.begin(), places.end());
  CHECK((places == Places{{0, 3}, {3, 13}, {13, 19}}));
}

// What was begun under one plan is finished under it, or parts would be missing or come twice.
TEST(ServerPlans, AnotherPlanWaitsForTheNextVersion) {
  ServerDriver driver(Sliced(false));
  driver.Join("w1");
  SayPlan(driver, 0, {5, 10, 19});
  driver.ForgetHeard();
  const std::vector<float> floats = ServerDriver::Gradients("w1", 0);
  driver.PushSegment("w1", 0, driver.SegmentOf("w1", 1, floats, 0, 0, 0, 5));
  Places places = PlacesOf(driver.HeardOf<net::Segment>("w1"));
  CHECK((places == Places{{0, 5}}));
  SayPlan(driver, 0, {8, 19});
  driver.PushSegment("w1", 0, driver.SegmentOf("w1", 2, floats, 1, 2, 0, 14));
  places = PlacesOf(driver.HeardOf<net::Segment>("w1"));
  CHECK((places == Places{{5, 10}, {10, 19}}));
  driver.Push("w1", 1);
  places = PlacesOf(driver.HeardOf<net::Segment>("w1"));
  std::sort(places.begin(), places.end());
  CHECK((places == Places{{0, 8}, {8, 19}}));
}

TEST(ServerPlans, WholeVersionsLeaveWhenTheLastSliceIsSummed) {
  for (const bool whole : {false, true}) {
    ServerDriver driver(Sliced(whole));
    driver.Join("w1");
    SayPlan(driver, 0, {5, 10, 15, 19});
    driver.ForgetHeard();
    const std::vector<float> floats = ServerDriver::Gradients("w1", 0);
    driver.PushSegment("w1", 0, driver.SegmentOf("w1", 1, floats, 0, 1, 0, 15));
    CHECK_EQUAL(whole, driver.HeardOf<net::Segment>("w1").empty());
    driver.PushSegment("w1", 0, driver.SegmentOf("w1", 2, floats, 2, 2, 0, 4));
    CHECK_FALSE(driver.HeardOf<net::Segment>("w1").empty());
    Naive naive;
    naive.Step({{"w1", 8}}, 0);
    CheckClose(naive.values, driver.values());
  }
}

TEST(ServerPlans, AnAckTellsWhenEachSegmentArrived) {
  ServerDriver driver(Sliced(false));
  driver.Join("w1");
  driver.ForgetHeard();
  const std::vector<float> floats = ServerDriver::Gradients("w1", 0);
  driver.clock.now = 5'000'000'123;
  driver.PushSegment("w1", 0, driver.SegmentOf("w1", 9, floats, 0, 0, 0, 5));
  const auto acks = driver.HeardOf<net::Ack>("w1");
  CHECK_EQUAL(1u, acks.size());
  CHECK((acks[0].sequences == std::vector<uint64_t>{9}));
  CHECK((acks[0].arrived_ns == std::vector<int64_t>{5'000'000'123}));
}

TEST_GROUP(ServerMembers){};

TEST(ServerMembers, TheFirstRoundBeginsWhenAllAreThere) {
  ServerDriver driver(With(2, 1));
  driver.Join("w1");
  driver.Push("w1", 0);
  driver.Pass(kNsPerSecond);
  CHECK_EQUAL(0, driver.server().round());
  driver.Join("w2");
  driver.Push("w2", 0);
  CHECK_EQUAL(1, driver.server().round());
}

TEST(ServerMembers, WhereNobodyIsHeardAnotherConnectionIsTriedAndOnlyThen) {
  ServerDriver driver(With(2, 1));
  driver.Pass(19 * kNsPerSecond);
  CHECK_EQUAL(0, driver.renewed());
  driver.Pass(2 * kNsPerSecond);
  CHECK_EQUAL(1, driver.renewed());
  driver.Pass(38 * kNsPerSecond);
  CHECK_EQUAL(1, driver.renewed());
  driver.Pass(2 * kNsPerSecond);
  CHECK_EQUAL(2, driver.renewed());
  // What is no message of a worker's is not heard.
  driver.Join("w1");
  for (int second = 0; second < 40; ++second) {
    driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 0), net::Heartbeat{}});
    driver.Pass(kNsPerSecond);
  }
  CHECK_EQUAL(2, driver.renewed());
}

TEST(ServerMembers, WhoJoinsTakesPartFromTheNextRoundOn) {
  ServerDriver driver;
  CHECK_EQUAL(0, driver.Join("w1"));
  CHECK_EQUAL(1, driver.Join("w2"));
  driver.ForgetHeard();
  const std::vector<float> floats = ServerDriver::Gradients("w2", 0);
  driver.PushSegment("w2", 0, driver.Segments("w2", floats)[0]);
  const auto nacks = driver.HeardOf<net::Nack>("w2");
  CHECK_EQUAL(1u, nacks.size());
  CHECK(nacks[0].refusal.reason == Reason::kStaleRound);
  driver.Push("w1", 0);
  CHECK_EQUAL(1, driver.server().round());
  driver.Push("w1", 1);
  CHECK_EQUAL(1, driver.server().round());
  driver.Push("w2", 1);
  CHECK_EQUAL(2, driver.server().round());
  Naive naive;
  naive.Step({{"w1", 8}}, 0);
  naive.Step({{"w1", 8}, {"w2", 8}}, 1);
  CheckClose(naive.values, driver.values());
}

TEST(ServerMembers, ARoundDoesNotWaitForWhoHasLeft) {
  for (const bool silently : {false, true}) {
    ServerDriver driver(With(2, 1));
    driver.Join("w1");
    driver.Join("w2");
    driver.Push("w1", 0);
    const std::vector<float> floats = ServerDriver::Gradients("w2", 0);
    driver.PushSegment("w2", 0, driver.Segments("w2", floats)[0]);
    CHECK_EQUAL(0, driver.server().round());
    if (silently) {
      for (int i = 0; i < 40; ++i) {
        driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 0), net::Heartbeat{}});
        driver.Pass(100 * kNsPerMs);
      }
    } else {
      driver.Leave("w2");
    }
    CHECK_EQUAL(1, driver.server().round());
    Naive naive;  // nothing of what w2 had sent counts
    naive.Step({{"w1", 8}}, 0);
    CheckClose(naive.values, driver.values());
  }
}

TEST(ServerMembers, WhoLeavesAfterItsLastSegmentStillCounts) {
  ServerDriver driver(With(2, 1));
  driver.Join("w1");
  driver.Join("w2");
  driver.Push("w2", 0);
  driver.Leave("w2");
  driver.Push("w1", 0);
  CHECK_EQUAL(1, driver.server().round());
  Naive naive;
  naive.Step({{"w1", 8}, {"w2", 8}}, 0);
  CheckClose(naive.values, driver.values());
  CHECK_EQUAL(1u, driver.server().status().workers.size());
}

TEST(ServerMembers, AWillFromAnEarlierStartIsNoGoodbye) {
  ServerDriver driver;
  driver.Join("w1", 1);
  driver.Join("w1", 2);
  driver.Leave("w1", 1);
  CHECK_EQUAL(1u, driver.server().status().workers.size());
  driver.Leave("w1", 2);
  CHECK(driver.server().status().workers.empty());
}

TEST(ServerMembers, BelowTheQuorumTheJobWaits) {
  ServerDriver driver(With(2, 2));
  driver.Join("w1");
  driver.Join("w2");
  driver.Push("w1", 0);
  driver.Leave("w2");
  CHECK_EQUAL(0, driver.server().round());
  CHECK_EQUAL(0, driver.Join("w2", 2));  // back, in the same round
  driver.Push("w2", 0, 2);
  CHECK_EQUAL(1, driver.server().round());
  Naive naive;
  naive.Step({{"w1", 8}, {"w2", 8}}, 0);
  CheckClose(naive.values, driver.values());
}

// F7, F8: what it had sent before it crashed is not mixed with what it sends now.
TEST(ServerMembers, WhoComesBackSendsItsRoundAnew) {
  ServerDriver driver;
  driver.Join("w1", 1);
  const std::vector<float> before(19, 100.0f);
  driver.PushSegment("w1", 0, driver.Segments("w1", before)[0]);
  CHECK_EQUAL(0, driver.Join("w1", 2));
  driver.Push("w1", 0, 2);
  Naive naive;
  naive.Step({{"w1", 8}}, 0);
  CheckClose(naive.values, driver.values());
}

TEST(ServerMembers, ALateSegmentUnderAnOlderTicketIsNotTaken) {
  ServerDriver driver(With(1, 1));
  driver.Join("w1", 1);
  const std::vector<float> old(19, 100.0f);
  const net::Segment late = driver.Segments("w1", old)[0];
  driver.Join("w1", 1);  // the same start, but it said Hello again
  driver.ForgetHeard();
  driver.PushSegment("w1", 0, late);
  CHECK(driver.HeardOf<net::Ack>("w1").empty());
  driver.Push("w1", 0);
  Naive naive;
  naive.Step({{"w1", 8}}, 0);
  CheckClose(naive.values, driver.values());
}

TEST(ServerMembers, TheDeadlineClosesARoundWithoutTheLate) {
  ServerSetting setting = With(3, 2);
  setting.round_deadline_ns = 2 * kNsPerSecond;
  ServerDriver driver(setting);
  for (const char* worker : {"w1", "w2", "w3"}) driver.Join(worker);
  driver.Push("w1", 0);
  driver.Pass(2100 * kNsPerMs);
  CHECK_EQUAL(0, driver.server().round());  // one is below the quorum
  driver.Push("w3", 0);
  CHECK_EQUAL(1, driver.server().round());
  Naive naive;
  naive.Step({{"w1", 8}, {"w3", 8}}, 0);
  CheckClose(naive.values, driver.values());
  // F11: what comes now of the closed round is too late, and says so.
  driver.ForgetHeard();
  driver.Push("w2", 0);
  const auto nacks = driver.HeardOf<net::Nack>("w2");
  CHECK_EQUAL(2u, nacks.size());
  CHECK(nacks[0].refusal.reason == Reason::kStaleRound && nacks[0].sequence == 1);
  CheckClose(naive.values, driver.values());
  // But it is in the next.
  for (const char* worker : {"w1", "w2", "w3"}) driver.Push(worker, 1);
  CHECK_EQUAL(2, driver.server().round());
}

TEST(ServerMembers, WithinTheDeadlineARoundWaitsForEverybody) {
  ServerSetting setting = With(2, 1);
  setting.round_deadline_ns = 2 * kNsPerSecond;
  ServerDriver driver(setting);
  driver.Join("w1");
  driver.Join("w2");
  driver.Push("w1", 0);
  driver.Pass(1900 * kNsPerMs);
  CHECK_EQUAL(0, driver.server().round());
  driver.Pass(200 * kNsPerMs);
  CHECK_EQUAL(1, driver.server().round());
}

TEST(ServerMembers, WhoOnlyAsksIsToldTheJobAndIsNoMember) {
  ServerDriver driver;
  driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 0), net::Hello{.batch = 1}});
  const auto welcomes = driver.HeardOf<net::Welcome>("w1");
  CHECK_EQUAL(1u, welcomes.size());
  CHECK(welcomes[0].model_hash == ServerDriver::Hash());
  CHECK_EQUAL(3u, welcomes[0].units.size());
  CHECK_EQUAL(5, welcomes[0].rounds);
  CHECK_EQUAL(0u, welcomes[0].ticket);
  CHECK(driver.server().status().workers.empty());
}

TEST(ServerMembers, PlacesAreKeptForWhoHasAskedAndForNobodyTwice) {
  ServerSetting setting = With(1, 1);
  setting.max_workers = 2;
  ServerDriver driver(setting);
  driver.Join("w1", 1);
  driver.Hello("w1", 2);  // started again: still one worker
  CHECK(driver.Join("w2") >= 0);
  driver.ForgetHeard();
  driver.Hello("w3");
  const auto refusals = driver.HeardOf<net::Refuse>("w3");
  CHECK_EQUAL(1u, refusals.size());
  CHECK(refusals[0].refusal.reason == Reason::kJobFull);
}

// Its Plan may be on the way for long; taking the invitation back would leave it with a ticket that
// nobody knows, and the server with one that it has forgotten.
TEST(ServerMembers, AMemberWhoAsksAnewMayTakeItsTime) {
  ServerSetting setting = With(2, 1);
  setting.max_workers = 3;
  ServerDriver driver(setting);
  driver.Join("w1");
  driver.ForgetHeard();
  driver.Hello("w1");
  const uint64_t ticket = driver.HeardOf<net::Welcome>("w1").back().ticket;
  for (int i = 0; i < 40; ++i) {
    driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 0), net::Heartbeat{}});
    driver.Pass(100 * kNsPerMs);
  }
  driver.Hello("w2");
  driver.ForgetHeard();
  driver.Say("w1", net::Lane::kControl,
             {driver.HeaderOf("w1", 0), net::Plan{.ticket = ticket, .ends = {}}});
  const auto segments = driver.HeardOf<net::Segment>("w1");
  CHECK_FALSE(segments.empty());
  CHECK_EQUAL(ticket, segments[0].ticket);
}

TEST(ServerMembers, WhoAskedAndWasNeverHeardOfAgainHoldsNoPlaceForEver) {
  ServerSetting setting = With(1, 1);
  setting.max_workers = 2;
  ServerDriver driver(setting);
  driver.Join("w1");
  driver.Hello("w2");  // and it died
  driver.ForgetHeard();
  driver.Hello("w3");
  CHECK_EQUAL(1u, driver.HeardOf<net::Refuse>("w3").size());
  for (int i = 0; i < 40; ++i) {
    driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 0), net::Heartbeat{}});
    driver.Pass(100 * kNsPerMs);
  }
  CHECK(driver.Join("w3") >= 0);
  CHECK_EQUAL(2u, driver.server().status().workers.size());
}

TEST_GROUP(ServerKeeping){};

// F5, F6: whatever the moment, the server goes on from what was kept and ends with the same bits.
TEST(ServerKeeping, ACrashAfterAnyRecordChangesNothingInTheEnd) {
  for (const int64_t slice_floats : {0, 4}) {
    ServerSetting setting = With(2, 2);
    setting.slice_floats = slice_floats;
    ServerDriver undisturbed(setting);
    undisturbed.Join("w1");
    undisturbed.Join("w2");
    std::vector<std::vector<float>> versions = {undisturbed.values()};
    for (int64_t round = 0; round < 5; ++round) {
      undisturbed.Push("w1", round);
      undisturbed.Push("w2", round);
      versions.push_back(undisturbed.values());
    }
    CHECK(undisturbed.server().finished());
    CHECK_EQUAL(0, undisturbed.keeper.states.front().round);
    const size_t records = undisturbed.keeper.records.size();
    const size_t slices = records / 5;
    CHECK_EQUAL(slice_floats == 0 ? 1u : 6u, slices);
    for (size_t kept = 0; kept <= records; ++kept) {
      setting.epoch = 2;
      ServerDriver again(setting, undisturbed.keeper, kept);
      const auto open = static_cast<int64_t>(kept / slices);
      CHECK_EQUAL(open, again.server().round());
      CHECK(SameBits(versions[static_cast<size_t>(open)], again.values()));
      if (open < 5) {
        CHECK_EQUAL(open, again.Join("w2", 2));
        CHECK_EQUAL(open, again.Join("w1", 2));
      }
      for (int64_t round = open; round < 5; ++round) {
        for (const char* worker : {"w2", "w1"}) again.Push(worker, round, 2);
      }
      CHECK(again.server().finished());
      CHECK(SameBits(versions.back(), again.values()));
    }
  }
}

TEST(ServerKeeping, ACheckpointStandsForEverythingBeforeIt) {
  ServerSetting setting = With(1, 1);
  setting.checkpoint_every = 2;
  ServerDriver driver(setting);
  driver.Join("w1");
  std::vector<std::vector<float>> versions = {driver.values()};
  for (int64_t round = 0; round < 5; ++round) {
    driver.Push("w1", round);
    versions.push_back(driver.values());
  }
  driver.Pass(kNsPerSecond);
  CHECK_EQUAL(4u, driver.keeper.states.size());
  for (const MemoryKeeper::State& state : driver.keeper.states) {
    CHECK(SameBits(versions[static_cast<size_t>(state.round)], state.values));
  }
  CHECK_EQUAL(0, driver.keeper.states[0].round);
  CHECK_EQUAL(2, driver.keeper.states[1].round);
  CHECK_EQUAL(4, driver.keeper.states[2].round);
  CHECK_EQUAL(5, driver.keeper.states[3].round);
}

TEST(ServerKeeping, AJournalWithAHoleIsRefused) {
  ServerDriver driver;
  const Recovery recovery = driver.server().recovery();
  const std::vector<float> mean(19, 0.0f);
  const Status status = recovery.record({.round = 3, .slice = {0, 19}, .mean = mean});
  CHECK(status.code() == StatusCode::kInvalidInput);
  const std::vector<float> other(18, 0.0f);
  CHECK(recovery.snapshot({.values = other, .optimizer_state = other}).code() ==
        StatusCode::kInvalidInput);
}

// F17: what was kept stays, training goes on, it is said once, and made up for later.
TEST(ServerKeeping, AFullDiskDoesNotStopTheTraining) {
  ServerSetting setting = With(1, 1);
  setting.checkpoint_every = 1;
  setting.welcome.rounds = 100;
  ServerDriver driver(setting);
  driver.Join("w1");
  driver.Push("w1", 0);
  driver.Pass(100 * kNsPerMs);
  const size_t states = driver.keeper.states.size();
  driver.keeper.full = true;
  for (int64_t round = 1; round < 10; ++round) {
    driver.Push("w1", round);
    driver.Pass(200 * kNsPerMs);
  }
  CHECK_EQUAL(10, driver.server().round());
  CHECK_EQUAL(states, driver.keeper.states.size());
  CHECK_EQUAL(1, driver.log.Count("CHECKPOINT_FAILED"));
  STRCMP_CONTAINS("full", driver.server().status().disk_problem.c_str());
  Naive naive;
  for (int64_t round = 0; round < 10; ++round) naive.Step({{"w1", 8}}, round);
  CheckClose(naive.values, driver.values());
  driver.keeper.full = false;
  for (int64_t round = 10; round < 40; ++round) {
    driver.Push("w1", round);
    driver.Pass(200 * kNsPerMs);
  }
  CHECK(driver.server().status().disk_problem.empty());
  CHECK_EQUAL(1, driver.log.Count("kept again"));
  CHECK_EQUAL(40, driver.server().round());
  CHECK(driver.keeper.states.size() > states);
}

// What nobody could take back is not let out before it is kept.
TEST(ServerKeeping, TheLastVersionIsSentOnlyOnceItIsKept) {
  ServerDriver driver;
  driver.Join("w1");
  for (int64_t round = 0; round < 4; ++round) driver.Push("w1", round);
  driver.Pass(100 * kNsPerMs);
  CHECK_EQUAL(4, driver.server().round());
  driver.keeper.full = true;
  driver.ForgetHeard();
  driver.Push("w1", 4);
  driver.Pass(kNsPerSecond);
  CHECK_EQUAL(4, driver.server().round());
  for (const net::Message& message : driver.Heard("w1")) {
    CHECK_FALSE(std::holds_alternative<net::Segment>(message.body) && message.header.round == 5);
  }
  driver.keeper.full = false;
  for (int i = 0; i < 60; ++i) {
    driver.Say("w1", net::Lane::kControl, {driver.HeaderOf("w1", 4), net::Heartbeat{}});
    driver.Pass(100 * kNsPerMs);
  }
  CHECK(driver.server().finished());
  CHECK_EQUAL(5, driver.keeper.states.back().round);
}

TEST(ServerKeeping, ASlowDiskHoldsTheNextRoundBackButLosesNothing) {
  ServerDriver driver;
  driver.Join("w1");
  driver.keeper.slow = true;
  driver.Push("w1", 0);
  CHECK_EQUAL(1, driver.server().round());
  driver.Push("w1", 1);
  CHECK_EQUAL(1, driver.server().round());
  CHECK(driver.server().status().waits_for_disk);
  driver.keeper.slow = false;
  driver.Pass(100 * kNsPerMs);
  CHECK_EQUAL(2, driver.server().round());
}

TEST(ServerKeeping, WhatADiskHoldsBackIsCountedAndWhatItDoesMeanwhileIsNot) {
  ServerDriver driver;
  driver.Join("w1");
  driver.keeper.slow = true;
  driver.Push("w1", 0);
  // The worker computes: that round 0 is not on the disk yet holds up nobody.
  driver.Pass(300 * kNsPerMs);
  LONGLONGS_EQUAL(0, driver.server().status().disk_wait_ns);
  driver.Push("w1", 1);
  driver.Pass(500 * kNsPerMs);
  LONGLONGS_EQUAL(500 * kNsPerMs, driver.server().status().disk_wait_ns);
  driver.keeper.slow = false;
  driver.Pass(100 * kNsPerMs);  // it is seen to be done after the time in which it was awaited
  CHECK_EQUAL(2, driver.server().round());
  driver.Pass(300 * kNsPerMs);
  LONGLONGS_EQUAL(600 * kNsPerMs, driver.server().status().disk_wait_ns);
}

TEST(ServerKeeping, OneServerOfSeveralWaitsForTheDiskWithEverySlice) {
  ServerSetting setting = ServerDriver::Usual();
  setting.shards = 2;
  ServerDriver driver(setting);
  driver.Join("w1");
  driver.Pass(100 * kNsPerMs);
  driver.keeper.slow = true;
  driver.Push("w1", 0);
  driver.Pass(200 * kNsPerMs);
  CHECK_EQUAL(0, driver.server().round());
  LONGLONGS_EQUAL(200 * kNsPerMs, driver.server().status().disk_wait_ns);
}

}  // namespace weft::ps
