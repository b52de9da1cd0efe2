// SPDX-License-Identifier: Apache-2.0
// What goes through a broker that is well.
#include <cstdint>
#include <string>
#include <thread>

#include "core/rng.h"
#include "tests/mqtt/broker.h"
#include "tests/mqtt/peer.h"
#include "tests/mqtt/relay.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

std::string Noise(size_t bytes, uint64_t seed) {
  Rng rng(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(rng.Next());
  return text;
}

}  // namespace

TEST_GROUP(MqttTraffic){};

TEST(MqttTraffic, WhatOnePublishesAnotherReceivesByteForByteAndAligned) {
  const Broker broker;
  Peer server(Settings(broker.port(), "ps", {"weft/+/+/push"}));
  Peer worker(Settings(broker.port(), "w1"));
  CHECK(server.AwaitConnected());
  CHECK(worker.AwaitConnected());
  const std::string texts[] = {"", "x", Noise(100'001, 1), Noise(3'000'000, 2)};
  for (const std::string& text : texts) worker.Say("weft/job/w1/push", text);
  CHECK(server.AwaitMessages(4));
  for (size_t i = 0; i < 4; ++i) {
    STRCMP_EQUAL("weft/job/w1/push", server.messages[i].topic.c_str());
    CHECK(server.Text(i) == texts[i]);
    CHECK_EQUAL(0, reinterpret_cast<uintptr_t>(server.messages[i].payload.bytes().data()) % 64);
    CHECK_FALSE(server.messages[i].retained);
  }
  CHECK(worker.Until([&] { return worker.transport->counts().acknowledged == 4; }));
  CHECK_EQUAL(0, server.reasons.size());
  CHECK_EQUAL(0, worker.reasons.size());
  CHECK_EQUAL(0, worker.problems.size());
}

TEST(MqttTraffic, NobodyHearsHimself) {
  const Broker broker;
  Peer both(Settings(broker.port(), "w1", {"weft/job/w1/ctl"}));
  Peer other(Settings(broker.port(), "w2"));
  CHECK(both.AwaitConnected());
  CHECK(other.AwaitConnected());
  both.Say("weft/job/w1/ctl", "mine");
  CHECK(both.Until([&] { return both.transport->counts().acknowledged == 1; }));
  other.Say("weft/job/w1/ctl", "yours");
  CHECK(both.AwaitMessages(1));
  STRCMP_EQUAL("yours", both.Text(0).c_str());
}

// F32
TEST(MqttTraffic, APayloadOfTheLimitPassesAndOneByteMoreIsDroppedWhileTrafficGoesOn) {
  const Broker broker(Broker::Open("max_packet_size 65536"));
  Peer server(Settings(broker.port(), "ps", {"weft/+/+/push"}));
  Peer worker(Settings(broker.port(), "w1"));
  CHECK(server.AwaitConnected());
  CHECK(worker.AwaitConnected());
  const auto limit = static_cast<size_t>(worker.limits.payload_bytes);
  CHECK(limit > 60'000);
  CHECK(limit < 65'536);
  const std::string topic(Mailbox::kLongestTopic, 't');  // the longest there is; nobody listens
  worker.Say(topic, std::string(limit, 'a'));
  worker.Say("weft/job/w1/push", std::string(limit + 1, 'b'));
  worker.Say("weft/job/w1/push", std::string(limit, 'c'));
  worker.Say("weft/job/w1/push", "d");
  CHECK(server.AwaitMessages(2));
  CHECK_EQUAL(limit, server.messages[0].payload.size());
  STRCMP_EQUAL("d", server.Text(1).c_str());
  CHECK(worker.Until([&] { return worker.transport->counts().acknowledged == 3; }));
  CHECK_EQUAL(1, worker.transport->counts().dropped_too_large);
  CHECK_EQUAL(0, worker.reasons.size());
  CHECK(worker.Until([&] { return worker.problems.size() == 2; }));
  // The one the broker tells may come before ours.
  const std::string told =
      worker.problems[0].second.message() + " " + worker.problems[1].second.message();
  STRCMP_CONTAINS("was not sent", told.c_str());
  STRCMP_CONTAINS("nobody listens", told.c_str());
}

// F35: the library allows whatever the broker sends.
TEST(MqttTraffic, WhatIsLargerThanWeTakeIsDroppedAndTold) {
  const Broker broker;
  MqttSetting setting = Settings(broker.port(), "ps", {"weft/+/+/push"});
  setting.payload_bytes = 1'000;
  Peer server(setting);
  Peer worker(Settings(broker.port(), "w1"));
  CHECK(server.AwaitConnected());
  CHECK(worker.AwaitConnected());
  worker.Say("weft/job/w1/push", std::string(1'001, 'a'));
  worker.Say("weft/job/w1/push", std::string(1'000, 'b'));
  CHECK(server.AwaitMessages(1));
  CHECK_EQUAL(1'000, server.messages[0].payload.size());
  CHECK_EQUAL(1, server.transport->counts().refused_too_large);
  CHECK_EQUAL(1, server.problems.size());
  STRCMP_CONTAINS("1001 bytes came and was dropped", server.problems[0].second.message().c_str());
}

// F28
TEST(MqttTraffic, WhatTheBrokerHasKeptIsNotDelivered) {
  const Broker broker;
  // The transport itself retains nothing. This is a CONNECT and a retained PUBLISH of MQTT 3.1.1.
  Peer witness(Settings(broker.port(), "ps0", {"weft/+/+/push"}));
  CHECK(witness.AwaitConnected());
  const char packets[] =
      "\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02zz"
      "\x31\x17\x00\x10weft/job/w1/pushstale";
  SendBytes(broker.port(), std::string(packets, sizeof(packets) - 1));
  CHECK(witness.AwaitMessages(1));
  STRCMP_EQUAL("stale", witness.Text(0).c_str());

  Peer late(Settings(broker.port(), "ps", {"weft/+/+/push"}));
  Peer worker(Settings(broker.port(), "w1"));
  CHECK(late.AwaitConnected());
  CHECK(worker.AwaitConnected());
  worker.Say("weft/job/w1/push", "fresh");
  CHECK(late.AwaitMessages(1));
  STRCMP_EQUAL("fresh", late.Text(0).c_str());
}

// F33
TEST(MqttTraffic, PublishingWhereNobodyListensIsToldOnceUntilSomebodyDoes) {
  const Broker broker;
  Peer worker(Settings(broker.port(), "w1"));
  CHECK(worker.AwaitConnected());
  worker.Say("weft/job/w1/ctl", "hello");
  worker.Say("weft/job/w1/ctl", "hello?");
  CHECK(worker.Until([&] { return worker.transport->counts().acknowledged == 2; }));
  CHECK(worker.Until([&] { return !worker.problems.empty(); }));
  STRCMP_EQUAL("weft/job/w1/ctl", worker.problems[0].first.c_str());
  CHECK(worker.problems[0].second.code() == StatusCode::kNotFound);
  STRCMP_CONTAINS("nobody listens", worker.problems[0].second.message().c_str());
  {
    Peer server(Settings(broker.port(), "ps", {"weft/+/+/ctl"}));
    CHECK(server.AwaitConnected());
    worker.Say("weft/job/w1/ctl", "hello!");
    CHECK(server.AwaitMessages(1));
    CHECK(worker.Until([&] { return worker.transport->counts().acknowledged == 3; }));
    CHECK_EQUAL(1, worker.problems.size());
  }
  worker.Say("weft/job/w1/ctl", "gone again");
  CHECK(worker.Until([&] { return worker.problems.size() == 2; }));
}

// F29, F31
TEST(MqttTraffic, PublishingWhereItIsForbiddenIsTold) {
  const apps::ScratchFolder folder;
  apps::WriteAll(folder.Path("acl"), "user w1\ntopic write weft/job/w1/push\n");
  const Broker broker(Broker::Open("acl_file " + folder.Path("acl")));
  Peer worker(Settings(broker.port(), "w1"));
  CHECK(worker.AwaitConnected());
  worker.Say("weft/job/w2/push", "not mine");
  CHECK(worker.Until([&] { return !worker.problems.empty(); }));
  STRCMP_EQUAL("weft/job/w2/push", worker.problems[0].first.c_str());
  CHECK(worker.problems[0].second.code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS("does not let user 'w1' publish", worker.problems[0].second.message().c_str());
  CHECK(worker.connected);
}

TEST(MqttTraffic, TheWillIsPublishedWhenTheLineIsCut) {
  const Broker broker;
  Peer server(Settings(broker.port(), "ps", {"weft/+/+/ctl"}));
  Relay relay(broker.port());
  MqttSetting setting = Settings(relay.port(), "w1");
  setting.will_topic = "weft/job/w1/ctl";
  setting.will_payload = PayloadOf("died");
  Peer worker(setting);
  CHECK(server.AwaitConnected());
  CHECK(worker.AwaitConnected());
  relay.Cut();
  CHECK(server.AwaitMessages(1));
  STRCMP_EQUAL("died", server.Text(0).c_str());
  CHECK(worker.Until([&] { return !worker.connected; }));
}

TEST(MqttTraffic, WhoLeavesSendsWhatHePublishedAndNotHisWill) {
  const Broker broker;
  Peer server(Settings(broker.port(), "ps", {"weft/+/+/ctl", "weft/+/+/push"}));
  CHECK(server.AwaitConnected());
  for (int i = 0; i < 5; ++i) {
    // It is being sent to while it leaves, so that bytes are left unread.
    MqttSetting setting = Settings(broker.port(), "w1", {"weft/job/w1/pull"});
    setting.will_topic = "weft/job/w1/ctl";
    setting.will_payload = PayloadOf("died");
    Peer worker(setting);
    CHECK(worker.AwaitConnected());
    for (int k = 0; k < 8; ++k) server.Say("weft/job/w1/pull", std::string(1'000'000, 'p'));
    worker.Say("weft/job/w1/push", std::string(4'000'000, 's'));
    worker.Say("weft/job/w1/ctl", "goodbye");
  }
  // Had there been a will, it would have come before this.
  Peer last(Settings(broker.port(), "w2"));
  CHECK(last.AwaitConnected());
  last.Say("weft/job/w2/ctl", "last");
  CHECK(server.AwaitMessages(11));
  for (size_t i = 0; i < 10; i += 2) {
    CHECK_EQUAL(4'000'000, server.messages[i].payload.size());
    STRCMP_EQUAL("goodbye", server.Text(i + 1).c_str());
  }
  STRCMP_EQUAL("last", server.Text(10).c_str());
}

TEST(MqttTraffic, AConnectionThatIsRenewedEndsInGoodOrderAndAnotherCarriesOn) {
  const Broker broker;
  Peer listener(Settings(broker.port(), "ps", {"weft/+/+/ctl"}));
  MqttSetting setting = Settings(broker.port(), "w1");
  setting.will_topic = "weft/job/w1/ctl";
  setting.will_payload = PayloadOf("died");
  Peer speaker(setting);
  CHECK(listener.AwaitConnected());
  CHECK(speaker.AwaitConnected());
  speaker.transport->Renew("nobody was heard");
  CHECK(speaker.Until([&] { return speaker.connections == 2 && speaker.connected; }));
  STRCMP_EQUAL("nobody was heard", speaker.Why().c_str());
  speaker.Say("weft/job/w1/ctl", "again");
  CHECK(listener.AwaitMessages(1));
  STRCMP_EQUAL("again", listener.Text(0).c_str());  // and no will before it
  CHECK(speaker.Never([&] { return speaker.connections > 2; }, 0.5));
}

TEST(MqttTraffic, WakeEndsAPoll) {
  const Broker broker;
  Peer peer(Settings(broker.port(), "w1"));
  CHECK(peer.AwaitConnected());
  std::thread other([&] { peer.transport->Wake(); });
  peer.transport->Poll(peer, INT64_MAX);
  other.join();
}

}  // namespace weft::net
