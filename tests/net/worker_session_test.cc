// SPDX-License-Identifier: Apache-2.0
// A worker against a server played by hand. Whole jobs are in tests/ps/simulation.h.
#include "net/worker_session.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "net/codec/codec.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

constexpr int64_t kMs = 1'000'000;

struct HandClock final : Clock {
  int64_t NowNs() const override { return now; }
  int64_t now = 1'000 * kMs;
};

struct Paper final : Transport {
  struct Sheet {
    std::string topic;
    Payload payload;
  };
  std::vector<Sheet> sheets;

  void Publish(const std::string& topic, Payload payload) override {
    sheets.push_back({topic, std::move(payload)});
  }
  void Poll(TransportEvents&, int64_t) override {}
  void Wake() override {}
  int64_t last_alive_ns() const override { return 0; }
};

ModelHash HashOf(int seed) {
  ModelHash hash = {};
  hash[0] = static_cast<std::byte>(seed);
  return hash;
}

// A worker of a model of three units, 5, 7 + 3 and 4 floats, and what it said.
struct Stage {
  explicit Stage(int shards = 1)
      : setting({.job = "job",
                 .worker = "w1",
                 .incarnation = 42,
                 .shards = shards,
                 .model_hash = HashOf(7),
                 .batch = 8,
                 .software = "test"}),
        session(setting, layout, paper, clock) {
    session.Connected({.payload_bytes = 1 << 20});
  }

  Header HeaderOf(int64_t round) const {
    return {.job = "job", .epoch = epoch, .round = round, .worker = "w1", .incarnation = 42};
  }
  void Hear(const Message& message) {
    session.Received("weft/job/w1/pull", Payload::CopyOf(Encode(message).bytes()), false);
  }
  void HearWelcome(uint64_t ticket, int64_t first_round, std::vector<uint64_t> slice_ends = {19},
                   const ModelHash& model = HashOf(7)) {
    Welcome welcome{.first_round = first_round,
                    .model = "toy",
                    .input = {1, 1, 1},
                    .classes = 2,
                    .units = layout.units(),
                    .first_unit = 0,
                    .last_unit = 2,
                    .slice_ends = std::move(slice_ends),
                    .rounds = 9,
                    .batch = 8,
                    .heartbeat_ms = 500,
                    .worker_timeout_ms = 3000,
                    .window_bytes = 1 << 20,
                    .segment_bytes = 1 << 10,
                    .model_hash = model,
                    .ticket = ticket};
    Hear({HeaderOf(first_round), welcome});
  }
  Segment All(uint64_t sequence, const std::vector<float>& values) const {
    return {.kind = SegmentKind::kParameters,
            .ticket = 1,
            .sequence = sequence,
            .first_unit = 0,
            .last_unit = 2,
            .total = 19 * 4,
            .data = std::as_bytes(std::span(values))};
  }
  // The bodies of one kind that it has said since the last call.
  template <typename Kind>
  std::vector<Kind> Said() {
    std::vector<Kind> said;
    kept.clear();
    for (const Paper::Sheet& sheet : paper.sheets) {
      kept.push_back(sheet.payload);
      const auto decoded = Decode(sheet.payload.bytes());
      const auto& message = std::get<Message>(decoded);
      if (const auto* body = std::get_if<Kind>(&message.body)) said.push_back(*body);
    }
    paper.sheets.clear();
    return said;
  }
  void ReleaseAll(const WorkerSession::Attempt& attempt, const std::vector<float>& gradients) {
    const auto part = [&](FloatRange range) {
      return std::span(gradients).subspan(static_cast<size_t>(range.begin),
                                          static_cast<size_t>(range.size()));
    };
    for (int unit = 2; unit >= 0; --unit) {
      session.Release(attempt, unit, part(layout.Parameters(unit)), part(layout.Statistics(unit)),
                      serial);
    }
  }
  void Join() {
    HearWelcome(1, 0);
    paper.sheets.clear();
  }

  const WorkerSession::Setting setting;
  WireLayout layout = *WireLayout::Create({{"a", 5, 0}, {"b", 7, 3}, {"c", 4, 0}});
  HandClock clock;
  Paper paper;
  Serial serial;
  std::vector<Payload> kept;
  uint64_t epoch = 1;
  WorkerSession session;
};

std::vector<float> Rising(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

}  // namespace

TEST_GROUP(WorkerSession){};

TEST(WorkerSession, AsksToJoinThenForTheOpenRound) {
  Stage stage;
  const auto hellos = stage.Said<Hello>();
  CHECK_EQUAL(1u, hellos.size());
  CHECK(hellos[0].model_hash == HashOf(7) && hellos[0].batch == 8 && hellos[0].start_over);
  stage.HearWelcome(5, 3);
  const auto plans = stage.Said<Plan>();
  CHECK_EQUAL(1u, plans.size());
  CHECK_EQUAL(5u, plans[0].ticket);
  CHECK_EQUAL(19u, plans[0].ends.back());
  CHECK(stage.session.joined());
  CHECK_EQUAL(3, stage.session.NextAttempt()->round);
}

TEST(WorkerSession, WithoutAPlanItIsCutAsTheServersSlicesAre) {
  Stage stage;
  stage.HearWelcome(1, 0, {5, 12, 19});
  CHECK((stage.session.SliceEnds() == std::vector<int64_t>{5, 12, 19}));
  CHECK((stage.Said<Plan>().at(0).ends == std::vector<uint64_t>{5, 12, 19}));
}

TEST(WorkerSession, SlicesThatDoNotFitTheModelAreNoReasonToStayAway) {
  Stage stage;
  stage.HearWelcome(1, 0, {5, 4, 0, UINT64_MAX, 12});
  CHECK(stage.session.joined());
  CHECK((stage.Said<Plan>().at(0).ends == std::vector<uint64_t>{5, 12, 19}));
}

// A model of half a gigabyte comes down in more segments than are worth remembering: the way up
// is remembered all the same.
TEST(WorkerSession, WhatComesDownDoesNotCrowdOutWhatWentUp) {
  Stage stage;
  stage.Join();
  const std::vector<float> values = Rising(19);
  for (uint64_t copy = 1; copy <= 20'000; ++copy) {
    stage.Hear({stage.HeaderOf(0), stage.All(copy, values)});
    stage.paper.sheets.clear();
  }
  const auto attempt = *stage.session.NextAttempt();
  stage.session.Begin(attempt);
  stage.ReleaseAll(attempt, values);
  stage.session.Tick();
  const auto segments = stage.Said<Segment>();
  CHECK_EQUAL(1u, segments.size());
  stage.Hear({stage.HeaderOf(0), Ack{.ticket = 1, .sequences = {segments[0].sequence}}});
  std::vector<Arrival> arrivals;
  stage.session.TakeArrivals(arrivals);
  CHECK_EQUAL(1, std::count_if(arrivals.begin(), arrivals.end(),
                               [](const Arrival& arrival) { return arrival.up; }));
}

TEST(WorkerSession, TakesParametersInAndAcknowledgesEveryCopy) {
  Stage stage;
  stage.Join();
  const std::vector<float> values = Rising(19);
  for (int copy = 0; copy < 2; ++copy) {
    stage.Hear({stage.HeaderOf(0), stage.All(11, values)});
    const auto acks = stage.Said<Ack>();
    CHECK_EQUAL(1u, acks.size());
    CHECK((acks[0].sequences == std::vector<uint64_t>{11}));
  }
  const auto attempt = *stage.session.NextAttempt();
  stage.session.Begin(attempt);
  CHECK(stage.session.Look(attempt, 1) == WorkerSession::UnitState::kReady);
  CHECK_EQUAL(7u, stage.session.Parameters(1).size());
  CHECK_EQUAL(5.0f, stage.session.Parameters(1)[0]);
  CHECK_EQUAL(12.0f, stage.session.Statistics(1)[0]);
}

// A server, or whoever has got hold of the broker, can say anything; F35.
TEST(WorkerSession, SegmentsThatFitNoUnitsOfTheModelAreLeftAlone) {
  const std::vector<float> values = Rising(1000);
  const auto data = std::as_bytes(std::span(values));
  const auto ignored = [&](auto change) {
    Stage stage;
    stage.Join();
    Segment segment = stage.All(11, values);
    segment.data = data.first(4);
    change(segment);
    stage.Hear({stage.HeaderOf(0), segment});
    CHECK(stage.Said<Ack>().empty());
    CHECK_EQUAL(static_cast<int>(WorkerSession::UnitState::kWaiting),
                static_cast<int>(stage.session.Look(*stage.session.NextAttempt(), 0)));
  };
  ignored([](Segment& s) { s.last_unit = 3; });
  ignored([](Segment& s) { s.first_unit = s.last_unit = 3; });
  ignored([](Segment& s) { s.total += 4; });
  ignored([](Segment& s) { s.kind = SegmentKind::kGradients; });
  ignored([](Segment& s) { s.last_unit = 0x80000000; });
  // Units 1 to "-1" have -5 floats in 64 bits, and an offset can be anywhere in so many.
  ignored([&](Segment& s) {
    s.first_unit = 1;
    s.last_unit = 0xFFFFFFFF;
    s.total = static_cast<uint64_t>(-5) * 4;
    s.offset = uint64_t{1} << 20;
    s.data = data;
  });
}

TEST(WorkerSession, ParametersOfAnotherServerModelOrWorkerAreLeftAlone) {
  const std::vector<float> values = Rising(19);
  const auto ignored = [&](auto change) {
    Stage stage;
    stage.Join();
    Header header = stage.HeaderOf(0);
    change(header);
    stage.Hear({header, stage.All(11, values)});
    CHECK(stage.Said<Ack>().empty());
  };
  ignored([](Header& h) { h.job = "other"; });
  ignored([](Header& h) { h.worker = "w2"; });
  ignored([](Header& h) { h.incarnation = 41; });
  ignored([](Header& h) { h.epoch = 0; });
  ignored([](Header& h) { h.shards = 2; });
}

TEST(WorkerSession, GradientsAreSentAgainUntilTheyAreAcknowledged) {
  Stage stage;
  stage.Join();
  stage.Hear({stage.HeaderOf(0), stage.All(11, Rising(19))});
  const auto attempt = *stage.session.NextAttempt();
  stage.session.Begin(attempt);
  const std::vector<float> g = Rising(19);
  stage.ReleaseAll(attempt, g);
  stage.session.Tick();
  auto segments = stage.Said<Segment>();
  CHECK_EQUAL(1u, segments.size());  // neighbours are joined up to a segment's size
  CHECK_EQUAL(76u, segments[0].total);
  CHECK_EQUAL(1u, segments[0].ticket);
  CHECK_EQUAL(0, std::memcmp(segments[0].data.data(), g.data(), 76));
  CHECK_FALSE(stage.session.AllAnswered(attempt));
  stage.clock.now += 3'000 * kMs;
  stage.session.Tick();
  const auto again = stage.Said<Segment>();
  CHECK_EQUAL(1u, again.size());
  CHECK_EQUAL(segments[0].sequence, again[0].sequence);
  stage.Hear({stage.HeaderOf(0), Ack{.ticket = 1, .sequences = {segments[0].sequence}}});
  CHECK(stage.session.AllAnswered(attempt));
  CHECK_EQUAL(1, stage.session.ledger().acknowledged);
}

TEST(WorkerSession, ARefusalEndsItWithTheServersWords) {
  Stage stage;
  stage.Hear({stage.HeaderOf(0), Refuse{{Reason::kWrongModel, "these two"}}});
  CHECK_FALSE(stage.session.failure().ok());
  STRCMP_CONTAINS("WRONG_MODEL", stage.session.failure().message().c_str());
  STRCMP_CONTAINS("these two", stage.session.failure().message().c_str());
}

// Whether trying again may help: what a server says today may be otherwise tomorrow, but who shares
// a name with another would only send it away in turn.
TEST(WorkerSession, TellsWhatMayPassFromWhatIsWrongHere) {
  for (const Reason reason :
       {Reason::kJobFull, Reason::kQuarantined, Reason::kUnsupportedVersion, Reason::kWrongModel}) {
    Stage stage;
    stage.Hear({stage.HeaderOf(0), Refuse{{reason, "not now"}}});
    CHECK(stage.session.failure().code() == StatusCode::kUnavailable);
  }
  for (const Reason reason : {Reason::kQuarantined, Reason::kUnsupportedVersion}) {
    Stage stage;
    stage.Join();
    stage.Hear({stage.HeaderOf(0), Nack{.refusal = {reason, "not now"}}});
    CHECK(stage.session.failure().code() == StatusCode::kUnavailable);
  }
  Stage another_model;
  another_model.HearWelcome(1, 0, {19}, HashOf(8));
  CHECK(another_model.session.failure().code() == StatusCode::kUnavailable);
  Stage doubled;
  doubled.Join();
  doubled.Hear({doubled.HeaderOf(0), doubled.All(11, Rising(19))});
  doubled.Hear({doubled.HeaderOf(0), Nack{.refusal = {Reason::kSuperseded, "another process"}}});
  CHECK(doubled.session.failure().code() == StatusCode::kInvalidInput);
}

// What the server said while an earlier start of ours was its member may come late.
TEST(WorkerSession, WhoJoinedBeforeUsHasNotSupersededUs) {
  Stage stage;
  stage.HearWelcome(7, 0);
  const std::vector<float> values = Rising(19);
  Segment parameters = stage.All(11, values);
  parameters.ticket = 7;
  stage.Hear({stage.HeaderOf(0), parameters});
  stage.Hear({stage.HeaderOf(0), Nack{.ticket = 6, .refusal = {Reason::kSuperseded, "before"}}});
  CHECK(stage.session.failure().ok() && stage.session.joined());
  stage.Hear({stage.HeaderOf(0), Nack{.ticket = 8, .refusal = {Reason::kSuperseded, "since"}}});
  CHECK_FALSE(stage.session.failure().ok());
}

TEST(WorkerSession, AServerThatStartedAgainIsGreetedAnew) {
  Stage stage;
  stage.Join();
  stage.epoch = 2;
  stage.Hear({stage.HeaderOf(0), Heartbeat{}});
  stage.clock.now += 700 * kMs;  // it does not ask more often than that
  stage.session.Tick();
  CHECK_EQUAL(1u, stage.Said<Hello>().size());
}

TEST(WorkerSession, ASilentServerIsGreetedAnew) {
  Stage stage;
  stage.Join();
  stage.clock.now += 3'001 * kMs;
  stage.session.Tick();
  CHECK_EQUAL(1u, stage.Said<Hello>().size());
}

// The first server comes back at a later round, the second not at all: until it does, what the
// first has not answered can wait.
TEST(WorkerSession, WhileAServerIsAwayNothingIsDueForTheOthers) {
  Stage stage(2);
  const WireLayout::UnitRange parts[] = {*stage.layout.Shard(0, 2), *stage.layout.Shard(1, 2)};
  const auto hear = [&](int shard, uint64_t epoch, int64_t round, const Body& body) {
    const Header header{.job = "job",
                        .shard = static_cast<uint16_t>(shard),
                        .shards = 2,
                        .epoch = epoch,
                        .round = round,
                        .worker = "w1",
                        .incarnation = 42};
    stage.session.Received("weft/job:" + std::to_string(shard) + "/w1/pull",
                           Payload::CopyOf(Encode({header, body}).bytes()), false);
  };
  const auto welcome = [&](int shard, uint64_t epoch, int64_t round) {
    const WireLayout::UnitRange part = parts[shard];
    const auto floats = static_cast<uint64_t>(stage.layout.Units(part.first, part.last).size());
    hear(shard, epoch, round,
         Welcome{.first_round = round,
                 .model = "toy",
                 .input = {1, 1, 1},
                 .classes = 2,
                 .units = stage.layout.units(),
                 .first_unit = static_cast<uint32_t>(part.first),
                 .last_unit = static_cast<uint32_t>(part.last),
                 .slice_ends = {floats},
                 .rounds = 9,
                 .batch = 8,
                 .heartbeat_ms = 500,
                 .worker_timeout_ms = 3000,
                 .window_bytes = 1 << 20,
                 .segment_bytes = 1 << 10,
                 .model_hash = HashOf(7),
                 .ticket = 1});
  };
  for (const int shard : {0, 1}) welcome(shard, 1, 0);
  for (const int shard : {0, 1}) {
    const FloatRange floats = stage.layout.Units(parts[shard].first, parts[shard].last);
    const std::vector<float> values = Rising(static_cast<size_t>(floats.size()));
    hear(shard, 1, 0,
         Segment{.kind = SegmentKind::kParameters,
                 .ticket = 1,
                 .sequence = 1,
                 .first_unit = static_cast<uint32_t>(parts[shard].first),
                 .last_unit = static_cast<uint32_t>(parts[shard].last),
                 .total = static_cast<uint64_t>(floats.size()) * 4,
                 .data = std::as_bytes(std::span(values))});
  }
  const auto attempt = *stage.session.NextAttempt();
  stage.session.Begin(attempt);
  stage.ReleaseAll(attempt, Rising(19));
  stage.session.Tick();
  CHECK_EQUAL(2u, stage.Said<Segment>().size());
  welcome(0, 2, 3);
  stage.session.Tick();
  for (int i = 0; i < 100; ++i) {
    stage.clock.now = stage.session.next_tick_ns();
    hear(0, 2, 3, Heartbeat{});
    stage.session.Tick();
    CHECK(stage.session.next_tick_ns() > stage.clock.now);
  }
  CHECK_FALSE(stage.session.joined());
}

TEST(WorkerSession, ToldThatAllIsDoneBeforeTheLastVersionCameItKnowsThatItHasNone) {
  Stage stage;
  stage.Join();
  stage.Hear({stage.HeaderOf(0), stage.All(1, Rising(19))});
  stage.session.Tick();
  CHECK_FALSE(stage.session.done());
  stage.Hear({stage.HeaderOf(9), Goodbye{.kind = GoodbyeKind::kDone}});
  CHECK(stage.session.done());
  CHECK_FALSE(stage.session.has_last_version());
}

TEST(WorkerSession, ItsLastWillIsAGoodbyeOfItsOwnStart) {
  Stage stage;
  const Payload will = WorkerSession::LastWill(stage.setting, 0);
  const auto decoded = Decode(will.bytes());
  const auto& message = std::get<Message>(decoded);
  CHECK(std::get<Goodbye>(message.body).kind == GoodbyeKind::kDied);
  CHECK_EQUAL(42u, message.header.incarnation);
}

}  // namespace weft::net
