// SPDX-License-Identifier: Apache-2.0
// A worker against a server played by hand. Whole jobs are in tests/ps/simulation.h.
#include "net/worker_session.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "net/codec/codec.h"
#include "tests/net/session_stage.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

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
  stage.clock.now += 3'000 * kNsPerMs;
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
  stage.clock.now += 700 * kNsPerMs;  // it does not ask more often than that
  stage.session.Tick();
  CHECK_EQUAL(1u, stage.Said<Hello>().size());
}

TEST(WorkerSession, ASilentServerIsGreetedAnew) {
  Stage stage;
  stage.Join();
  stage.clock.now += 3'001 * kNsPerMs;
  stage.session.Tick();
  CHECK_EQUAL(1u, stage.Said<Hello>().size());
}

// The broker lives, and passes nothing on: another connection may, so it is tried less and less
// often.
TEST(WorkerSession, WhereNobodyIsHeardAnotherConnectionIsTried) {
  Stage stage;
  std::vector<int64_t> after_s;
  const int64_t begin = stage.clock.now;
  int64_t connected = begin;
  while (after_s.size() < 7) {
    stage.clock.now = stage.session.next_tick_ns();
    stage.session.Tick();
    CHECK(stage.session.next_tick_ns() > stage.clock.now);
    if (static_cast<int>(after_s.size()) == stage.paper.renewed) continue;
    after_s.push_back((stage.clock.now - connected) / kNsPerSecond);
    connected = stage.clock.now;
    stage.session.Disconnected(Status::Unavailable("as asked"));
    stage.session.Connected({.payload_bytes = 1 << 20});
  }
  const std::vector<int64_t> expected = {20, 40, 80, 160, 320, 600, 600};
  CHECK(after_s == expected);
  stage.Join();
  for (int second = 0; second < 100; ++second) {
    stage.clock.now += kNsPerSecond;
    stage.Hear({stage.HeaderOf(0), Heartbeat{}});
    stage.session.Tick();
  }
  CHECK_EQUAL(7, stage.paper.renewed);
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
