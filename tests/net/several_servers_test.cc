// SPDX-License-Identifier: Apache-2.0
// A worker of two servers: all gradients go by one connection, the most urgent first, whichever
// server they are for.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/net/session_stage.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

// Of a model of 19 floats the first server has 15, and the second the rest; both are joined, and
// all parameters are there.
class TwoServers {
 public:
  explicit TwoServers(uint64_t segment_bytes = 1 << 10, uint64_t window_bytes = 1 << 20)
      : segment_bytes_(segment_bytes), window_bytes_(window_bytes) {
    for (const int shard : {0, 1}) Welcomes(shard, 1, 0);
    for (const int shard : {0, 1}) SendsParameters(shard, 0);
    attempt = *stage.session.NextAttempt();
    stage.session.Begin(attempt);
  }

  void ReleaseAll() {
    stage.ReleaseAll(attempt, Rising(19));
    stage.session.Tick();
  }
  void SendsParameters(int shard, int64_t round) {
    const std::vector<float> values = Rising(static_cast<size_t>(Floats(shard).size()));
    Hear(shard, 1, round,
         Segment{.kind = SegmentKind::kParameters,
                 .ticket = 1,
                 .sequence = static_cast<uint64_t>(round) + 1,
                 .first_unit = static_cast<uint32_t>(Part(shard).first),
                 .last_unit = static_cast<uint32_t>(Part(shard).last),
                 .total = static_cast<uint64_t>(values.size()) * 4,
                 .data = std::as_bytes(std::span(values))});
  }

  WireLayout::UnitRange Part(int shard) const { return *stage.layout.Shard(shard, 2); }
  FloatRange Floats(int shard) const {
    return stage.layout.Units(Part(shard).first, Part(shard).last);
  }
  int ShardOf(const Segment& segment) const {
    return static_cast<int>(segment.first_unit) > Part(0).last ? 1 : 0;
  }
  void Hear(int shard, uint64_t epoch, int64_t round, const Body& body) {
    const Header header{.job = "job",
                        .shard = static_cast<uint16_t>(shard),
                        .shards = 2,
                        .epoch = epoch,
                        .round = round,
                        .worker = "w1",
                        .incarnation = 42};
    stage.session.Received("weft/job:" + std::to_string(shard) + "/w1/pull",
                           Payload::CopyOf(Encode({header, body}).bytes()), false);
  }
  void Welcomes(int shard, uint64_t epoch, int64_t round) {
    Welcome welcome = stage.WelcomeTo(Part(shard), 1, round);
    welcome.window_bytes = window_bytes_;
    welcome.segment_bytes = segment_bytes_;
    Hear(shard, epoch, round, welcome);
  }
  // By a clock of the server's own.
  void Answers(const Segment& segment, int64_t arrived_ns) {
    Hear(ShardOf(segment), 1, 0,
         Ack{.ticket = 1, .sequences = {segment.sequence}, .arrived_ns = {arrived_ns}});
  }

  Stage stage{2};
  WorkerSession::Attempt attempt;

 private:
  const uint64_t segment_bytes_;
  const uint64_t window_bytes_;
};

}  // namespace

TEST_GROUP(SeveralServers){};

// The first server comes back at a later round, the second not at all: until it does, what the
// first has not answered can wait.
TEST(SeveralServers, WhileOneIsAwayNothingIsDueForTheOthers) {
  TwoServers servers;
  servers.ReleaseAll();
  Stage& stage = servers.stage;
  CHECK_EQUAL(2u, stage.Said<Segment>().size());
  servers.Welcomes(0, 2, 3);
  stage.session.Tick();
  for (int i = 0; i < 100; ++i) {
    stage.clock.now = stage.session.next_tick_ns();
    servers.Hear(0, 2, 3, Heartbeat{});
    stage.session.Tick();
    CHECK(stage.session.next_tick_ns() > stage.clock.now);
  }
  CHECK_FALSE(stage.session.joined());
}

TEST(SeveralServers, WhatIsMostUrgentGoesFirstWhoeverItIsFor) {
  TwoServers servers(4, 16);  // a float a segment, four segments on the way
  servers.ReleaseAll();
  std::vector<uint32_t> units;
  for (int i = 0; i < 20; ++i) {
    const std::vector<Segment> sent = servers.stage.Said<Segment>();
    if (sent.empty()) break;
    for (const Segment& segment : sent) units.push_back(segment.first_unit);
    servers.stage.clock.now += kNsPerMs;
    for (const Segment& segment : sent) servers.Answers(segment, servers.stage.clock.now);
  }
  CHECK_EQUAL(19u, units.size());
  CHECK(std::ranges::is_sorted(units));
}

TEST(SeveralServers, TogetherTheyGetWhatOneConnectionCarries) {
  TwoServers servers(8, 32);
  servers.ReleaseAll();
  CHECK_EQUAL(4u, servers.stage.Said<Segment>().size());
}

// Of the first server, whose answers are late, some larger segments wait, and of the second smaller
// ones that would fit beside what is on the way.
TEST(SeveralServers, WhatIsLessUrgentDoesNotFillTheGapsBeforeWhatWaits) {
  TwoServers servers(24, 40);  // 60 bytes for the first, by up to 24, and 16 for the second
  servers.stage.session.Use({.push_ends = {6, 12, 15, 17, 19}, .pull_ends = {19}});
  servers.ReleaseAll();
  Stage& stage = servers.stage;
  std::vector<Segment> on_the_way = stage.Said<Segment>();
  std::vector<uint32_t> units;
  while (!on_the_way.empty()) {
    const Segment first = on_the_way.front();
    on_the_way.erase(on_the_way.begin());
    units.push_back(first.first_unit);
    stage.clock.now += kNsPerMs;
    servers.Answers(first, stage.clock.now);
    for (const Segment& segment : stage.Said<Segment>()) on_the_way.push_back(segment);
  }
  CHECK_EQUAL(5u, units.size());
  CHECK(std::ranges::is_sorted(units));
}

TEST(SeveralServers, OneThatDoesNotAnswerDoesNotHoldUpTheOthers) {
  TwoServers servers(8, 32);
  servers.ReleaseAll();
  Stage& stage = servers.stage;
  size_t of_second = 0;
  // The first is silent from the beginning.
  for (int i = 0; i < 10; ++i) {
    for (const Segment& segment : stage.Said<Segment>()) {
      if (servers.ShardOf(segment) == 0) continue;
      ++of_second;
      servers.Answers(segment, stage.clock.now);
    }
    stage.clock.now += 100 * kNsPerMs;
    servers.Hear(0, 1, 0, Heartbeat{});
    stage.session.Tick();
  }
  CHECK_EQUAL(static_cast<size_t>(servers.Floats(1).size() + 1) / 2, of_second);
}

// What came down held up the answers of one server; its clock tells when it had them.
TEST(SeveralServers, ArrivalsAreByOneClockHoweverLateAnswersAre) {
  TwoServers servers(20);
  servers.ReleaseAll();
  Stage& stage = servers.stage;
  const int64_t begin = stage.clock.now;
  const std::vector<Segment> sent = stage.Said<Segment>();
  CHECK_EQUAL(4u, sent.size());
  const int64_t ahead[] = {-3600'000 * kNsPerMs, 86'400'000 * kNsPerMs};
  const auto arrived = [&](size_t i) {
    return begin + static_cast<int64_t>(10 * (i + 1)) * kNsPerMs;
  };
  // Each takes 10 ms of the line; the answer comes at once, but from the first server all but one
  // come in a heap at the end.
  std::vector<size_t> late;
  bool heard_first = false;
  for (size_t i = 0; i < sent.size(); ++i) {
    const int shard = servers.ShardOf(sent[i]);
    if (shard == 0 && std::exchange(heard_first, true)) {
      late.push_back(i);
      continue;
    }
    stage.clock.now = arrived(i);
    servers.Answers(sent[i], arrived(i) + ahead[shard]);
  }
  stage.clock.now = begin + 500 * kNsPerMs;
  for (const size_t i : late) servers.Answers(sent[i], arrived(i) + ahead[0]);
  std::vector<Arrival> arrivals;
  stage.session.TakeArrivals(arrivals);
  std::erase_if(arrivals, [](const Arrival& arrival) { return !arrival.up; });
  CHECK_EQUAL(sent.size(), arrivals.size());
  for (size_t i = 0; i < arrivals.size(); ++i) {
    // Clocks may drift, by less than a ten-thousandth of half a second.
    LONGS_EQUAL_TEXT(arrived(i) / kNsPerMs, (arrivals[i].at_ns + kNsPerMs / 2) / kNsPerMs,
                     "an arrival");
  }
}

// A board needs longer for backward than anybody waits, and a part of the next version that came
// meanwhile was lost with the connection: it will come again, so nothing is thrown away.
TEST(SeveralServers, ALongBackwardIsNoReasonToStartOver) {
  TwoServers servers;
  Stage& stage = servers.stage;
  stage.session.Release(servers.attempt, 2, Rising(4), {}, stage.serial);
  servers.SendsParameters(1, 1);
  for (int second = 0; second < 30; ++second) {
    stage.clock.now += kNsPerSecond;
    servers.Hear(0, 1, 0, Heartbeat{});
    servers.Hear(1, 1, 1, Heartbeat{});
    stage.session.Tick();
  }
  stage.Said<Hello>();
  servers.Hear(0, 1, 1, Heartbeat{});  // it has closed the round, and what it sent was lost
  for (int tick = 0; tick < 4; ++tick) {
    stage.session.Tick();
    stage.clock.now += kNsPerSecond;
    servers.Hear(0, 1, 1, Heartbeat{});
    servers.Hear(1, 1, 1, Heartbeat{});
  }
  CHECK(stage.Said<Hello>().empty());
  servers.SendsParameters(0, 1);
  CHECK(stage.session.Look(*stage.session.NextAttempt(), 0) == WorkerSession::UnitState::kReady);
}

// What was summed while backward still runs comes down meanwhile.
TEST(SeveralServers, TheNextVersionIsTakenOnceGradientsLeaveAndNotBefore) {
  TwoServers servers;
  Stage& stage = servers.stage;
  stage.Said<Ack>();
  servers.SendsParameters(1, 1);  // the second has closed the round without us
  CHECK(stage.Said<Ack>().empty());
  CHECK_FALSE(stage.session.NextAttempt().has_value());
  const std::vector<float> gradients = Rising(4);
  stage.session.Release(servers.attempt, 2, gradients, {}, stage.serial);
  servers.SendsParameters(1, 1);
  CHECK_EQUAL(1u, stage.Said<Ack>().size());
  CHECK_EQUAL(1, stage.session.NextAttempt()->round);
  // And the rest of the gradients leaves.
  stage.session.Release(servers.attempt, 1, Rising(7), Rising(3), stage.serial);
  stage.session.Release(servers.attempt, 0, Rising(5), {}, stage.serial);
  stage.session.Tick();
  const std::vector<Segment> sent = stage.Said<Segment>();
  CHECK_EQUAL(15 * 4, std::accumulate(sent.begin(), sent.end(), 0, [](int sum, const Segment& s) {
                return sum + static_cast<int>(s.data.size());
              }));
}

}  // namespace weft::net
