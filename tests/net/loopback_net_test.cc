// SPDX-License-Identifier: Apache-2.0
// The net that other tests rely on does what it says: the faults happen, and the same ones again.
#include "net/loopback/loopback_net.h"
#include "core/clock.h"

#include <cstring>
#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

Payload Number(int number) { return Payload::CopyOf(std::as_bytes(std::span(&number, 1))); }

int NumberIn(const Payload& payload) {
  int number = 0;
  std::memcpy(&number, payload.bytes().data(), sizeof(number));
  return number;
}

struct Ear final : TransportEvents {
  struct Heard {
    int64_t ns;
    std::string topic;
    Payload payload;
  };
  const Clock* clock = nullptr;
  std::vector<Heard> heard;
  int connected = 0;
  int disconnected = 0;
  int64_t limit = 0;

  void Connected(const ConnectionLimits& limits) override {
    ++connected;
    limit = limits.payload_bytes;
  }
  void Disconnected(const Status&) override { ++disconnected; }
  void Received(const std::string& topic, Payload payload, bool) override {
    heard.push_back({clock->NowNs(), topic, std::move(payload)});
  }
  void PublishProblem(const std::string&, const Status&) override {}
};

// A speaker and a listener, and what the listener hears of 1000 numbers, 1 ms apart.
struct Pair {
  explicit Pair(uint64_t seed, const LoopbackFaults& faults = {}) : net(seed, 1000) {
    ear.clock = &net.clock();
    mouth.clock = &net.clock();
    net.SetFaults(faults);
    listener = net.Join([](const std::string& topic) { return topic == "t"; }, ear);
    speaker = net.Join([](const std::string&) { return false; }, mouth);
    listener->Connect();
    speaker->Connect();
  }

  void SpeakAndListen() {
    for (int i = 0; i < 1000; ++i) {
      net.At(net.now_ns() + i * kNsPerMs, [this, i] { speaker->Publish("t", Number(i)); });
    }
    Run();
  }
  void Run() {
    while (net.Step()) {
    }
  }

  LoopbackNet net;
  Ear ear;
  Ear mouth;
  std::unique_ptr<LoopbackNet::Endpoint> listener;
  std::unique_ptr<LoopbackNet::Endpoint> speaker;
};

}  // namespace

TEST_GROUP(LoopbackNet){};

TEST(LoopbackNet, WithoutFaultsEverythingComesOnceInOrderAndOnTime) {
  Pair pair(1);
  pair.SpeakAndListen();
  CHECK_EQUAL(1000u, pair.ear.heard.size());
  for (int i = 0; i < 1000; ++i) {
    const Ear::Heard& heard = pair.ear.heard[static_cast<size_t>(i)];
    CHECK_EQUAL(i, NumberIn(heard.payload));
    CHECK_EQUAL(1'000 * kNsPerMs + (i + 1) * kNsPerMs, heard.ns);
  }
  CHECK_EQUAL(1000, pair.ear.limit);
  CHECK(pair.mouth.heard.empty());
}

TEST(LoopbackNet, WithARateMessagesWaitForEachOtherOnBothWays) {
  Pair pair(1, {.bytes_per_s = 1'000'000});
  const std::vector<std::byte> thousand(1000);  // a millisecond on each way
  for (int i = 0; i < 10; ++i) pair.speaker->Publish("t", Payload::CopyOf(thousand));
  pair.Run();
  CHECK_EQUAL(10u, pair.ear.heard.size());
  for (int i = 0; i < 10; ++i) {
    // Up, down, and the delay; the others right behind it.
    CHECK_EQUAL((1'000 + 3 + i) * kNsPerMs, pair.ear.heard[static_cast<size_t>(i)].ns);
  }
}

TEST(LoopbackNet, TheSameSeedGivesTheSameEventsAndAnotherDoesNot) {
  const LoopbackFaults faults{
      .lose = 0.1, .twice = 0.1, .damage = 0.05, .most_delay_ns = 50 * kNsPerMs};
  Pair once(7, faults);
  Pair again(7, faults);
  Pair other(8, faults);
  for (Pair* pair : {&once, &again, &other}) pair->SpeakAndListen();
  CHECK(once.net.event_hash() == again.net.event_hash());
  CHECK(once.net.event_hash() != other.net.event_hash());
  CHECK_EQUAL(once.net.delivered(), again.net.delivered());
}

TEST(LoopbackNet, SomeAreLost) {
  Pair pair(2, {.lose = 0.2});
  pair.SpeakAndListen();
  const auto lost = static_cast<int64_t>(1000 - pair.ear.heard.size());
  CHECK(lost > 120 && lost < 280);  // 200 expected, deviation 13
  CHECK_EQUAL(lost, pair.net.dropped());
}

TEST(LoopbackNet, SomeComeTwice) {
  Pair pair(3, {.twice = 0.2});
  pair.SpeakAndListen();
  const auto more = static_cast<int64_t>(pair.ear.heard.size()) - 1000;
  CHECK(more > 120 && more < 280);
}

TEST(LoopbackNet, DelayedOnesOvertakeEachOther) {
  Pair pair(4, {.least_delay_ns = kNsPerMs, .most_delay_ns = 20 * kNsPerMs});
  pair.SpeakAndListen();
  int overtaken = 0;
  for (size_t i = 1; i < 1000; ++i) {
    overtaken += NumberIn(pair.ear.heard[i].payload) < NumberIn(pair.ear.heard[i - 1].payload);
    const int64_t delay =
        pair.ear.heard[i].ns - 1'000 * kNsPerMs - NumberIn(pair.ear.heard[i].payload) * kNsPerMs;
    CHECK(delay >= kNsPerMs && delay <= 20 * kNsPerMs);
  }
  CHECK(overtaken > 100);
}

TEST(LoopbackNet, DamageChangesOneByteOfTheCopyOnly) {
  Pair pair(5, {.damage = 1});
  const Payload said = Number(0);
  pair.speaker->Publish("t", said);
  pair.Run();
  CHECK_EQUAL(0, NumberIn(said));
  int changed = 0;
  for (size_t i = 0; i < 4; ++i) {
    changed += pair.ear.heard[0].payload.bytes()[i] != said.bytes()[i];
  }
  CHECK_EQUAL(1, changed);
}

TEST(LoopbackNet, AQueueThatIsFullDropsTheNewest) {
  Pair pair(6, {.queue_limit = 3});
  for (int i = 0; i < 10; ++i) pair.speaker->Publish("t", Number(i));
  pair.Run();
  CHECK_EQUAL(3u, pair.ear.heard.size());
  CHECK_EQUAL(2, NumberIn(pair.ear.heard[2].payload));
  CHECK_EQUAL(7, pair.net.dropped());
}

TEST(LoopbackNet, WhatIsTooLargeOrSaidWithoutAConnectionIsDropped) {
  Pair pair(7);
  pair.speaker->Publish("t", Payload::CopyOf(std::vector<std::byte>(1001)));
  pair.speaker->Disconnect(true);
  pair.speaker->Publish("t", Number(1));
  pair.Run();
  CHECK(pair.ear.heard.empty());
  CHECK_EQUAL(2, pair.net.dropped());
}

TEST(LoopbackNet, ACrashPublishesTheWill) {
  Pair pair(8);
  pair.speaker->SetWill("t", Number(99));
  pair.speaker.reset();
  pair.Run();
  CHECK_EQUAL(1u, pair.ear.heard.size());
  CHECK_EQUAL(99, NumberIn(pair.ear.heard[0].payload));
}

TEST(LoopbackNet, AnUnnoticedEndPublishesNoWill) {
  Pair pair(9);
  pair.speaker->SetWill("t", Number(99));
  pair.speaker->Disconnect(false);
  pair.speaker.reset();
  pair.Run();
  CHECK(pair.ear.heard.empty());
}

TEST(LoopbackNet, ACutLinkPassesNothingAndNobodyNotices) {
  Pair pair(10);
  pair.listener->Cut(true);
  pair.speaker->Publish("t", Number(1));
  pair.Run();
  CHECK(pair.ear.heard.empty());
  CHECK(pair.listener->connected());
  pair.listener->Cut(false);
  pair.speaker->Publish("t", Number(2));
  pair.Run();
  CHECK_EQUAL(1u, pair.ear.heard.size());
}

TEST(LoopbackNet, WhoIsNoLongerHeardHearsAgainByAnotherConnection) {
  Pair pair(11);
  pair.listener->Deafen();
  pair.speaker->Publish("t", Number(1));
  pair.Run();
  CHECK(pair.ear.heard.empty());
  pair.listener->Renew("a try");
  pair.Run();
  CHECK(pair.listener->connected());
  pair.speaker->Publish("t", Number(2));
  pair.Run();
  CHECK_EQUAL(1u, pair.ear.heard.size());
}

TEST(LoopbackNet, ABrokersRestartLosesWhatWasOnItsWayAndConnectsAnew) {
  // It would arrive after the new connection.
  Pair pair(11, {.least_delay_ns = 500 * kNsPerMs, .most_delay_ns = 500 * kNsPerMs});
  pair.speaker->Publish("t", Number(1));
  pair.net.RestartBroker(100 * kNsPerMs);
  CHECK_EQUAL(1, pair.ear.disconnected);
  CHECK_FALSE(pair.listener->connected());
  pair.Run();
  CHECK(pair.ear.heard.empty());
  CHECK_EQUAL(2, pair.ear.connected);
  pair.speaker->Publish("t", Number(2));
  pair.Run();
  CHECK_EQUAL(1u, pair.ear.heard.size());
}

TEST(LoopbackNet, AFrozenBrokerDeliversLaterAndGivesNoSignOfLife) {
  Pair pair(12);
  const int64_t before = pair.speaker->last_alive_ns();
  pair.net.At(pair.net.now_ns() + 10 * kNsPerMs, [] {});
  pair.Run();
  pair.net.FreezeBroker(pair.net.now_ns() + 500 * kNsPerMs);
  pair.speaker->Publish("t", Number(1));
  CHECK_EQUAL(before, pair.speaker->last_alive_ns());
  pair.Run();
  CHECK_EQUAL(1'000 * kNsPerMs + 511 * kNsPerMs, pair.ear.heard[0].ns);
}

TEST(LoopbackNet, EventsOfOneTimeHappenInTheOrderTheyWereAskedFor) {
  LoopbackNet net(1, 10);
  std::string order;
  for (const char c : {'a', 'b', 'c'}) net.At(5'000 * kNsPerMs, [&order, c] { order += c; });
  net.At(4'000 * kNsPerMs, [&order] { order += '0'; });
  net.At(1, [&order] { order += '-'; });  // the past is now
  while (net.Step()) {
  }
  CHECK_EQUAL(std::string("-0abc"), order);
}

}  // namespace weft::net
