// SPDX-License-Identifier: Apache-2.0
// The configuration we write for a broker, in a real one: it loads, and everybody keeps to his own
// topics.
#include "cloud_ps/broker/broker_config.h"

#include <memory>
#include <string>

#include "net/topics.h"
#include "tests/mqtt/broker.h"
#include "tests/mqtt/certificates.h"
#include "tests/mqtt/peer.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

namespace {

ps::BrokerJob SmallJob(const std::string& acl_path) {
  return {.job = "job",
          .workers = 2,
          .window_bytes = 8 << 20,
          .segment_bytes = 256 << 10,
          .acl_path = acl_path};
}

// A broker for `job` on some port, with its ACL in place.
std::unique_ptr<Broker> BrokerFor(ps::BrokerJob job) {
  return std::make_unique<Broker>([job](int port) mutable {
    job.port = port;
    const Result<ps::BrokerPlan> plan = ps::PlanBroker(job);
    apps::WriteAll(job.acl_path, plan->acl);
    return plan->config;
  });
}

bool Refused(Peer* peer, const std::string& topic) {
  const size_t before = peer->problems.size();
  peer->Say(topic, "not mine");
  return peer->Until([&] { return peer->problems.size() > before; }) &&
         peer->problems.back().first == topic &&
         peer->problems.back().second.message().find("does not let") != std::string::npos;
}

// The server hears both; neither worker hears or speaks for the other, nor in another job.
void CheckEverybodyKeepsToHisOwn(const std::vector<std::string>& levels, Peer* server, Peer* first,
                                 Peer* second) {
  CHECK(server->AwaitConnected());
  CHECK(first->AwaitConnected());
  CHECK(second->AwaitConnected());
  // F29
  for (const std::string& level : levels) {
    CHECK(Refused(first, TopicOf(level, "w2", Lane::kPush)));
    CHECK(Refused(first, TopicOf(level, "w2", Lane::kControl)));
    CHECK(Refused(first, TopicOf(level, "w1", Lane::kPull)));
    CHECK(Refused(server, TopicOf(level, "w1", Lane::kPush)));
  }
  CHECK(Refused(first, TopicOf("other", "w1", Lane::kPush)));
  CHECK(Refused(first, TopicOf("job:3", "w1", Lane::kPush)));
  CHECK(Refused(server, TopicOf("other", "w1", Lane::kPull)));
  CHECK(Refused(first, "$SYS/broker/uptime"));
  CHECK(Refused(first, "elsewhere"));

  for (const std::string& level : levels) {
    for (const Lane lane : {Lane::kControl, Lane::kPush, Lane::kTelemetry}) {
      server->messages.clear();
      first->Say(TopicOf(level, "w1", lane), "mine");
      CHECK(server->AwaitMessages(1));
      STRCMP_EQUAL(TopicOf(level, "w1", lane).c_str(), server->messages[0].topic.c_str());
    }
  }
  // Both asked for everybody's pull, and were told they might have it.
  first->messages.clear();
  second->messages.clear();
  server->Say(TopicOf(levels.front(), "w2", Lane::kPull), "for w2");
  server->Say(TopicOf(levels.back(), "w1", Lane::kPull), "for w1");
  CHECK(first->AwaitMessages(1));
  CHECK(second->AwaitMessages(1));
  STRCMP_EQUAL("for w1", first->Text(0).c_str());
  STRCMP_EQUAL("for w2", second->Text(0).c_str());
}

const std::vector<std::string> kUpward = {"weft/+/+/ctl", "weft/+/+/push", "weft/+/+/telemetry"};
const std::vector<std::string> kEverybodysPull = {"weft/+/+/pull"};

}  // namespace

TEST_GROUP(BrokerConfig){};

TEST(BrokerConfig, OnLoopbackItLoadsAndEverybodyKeepsToHisOwnTopics) {
  const apps::ScratchFolder folder;
  const std::unique_ptr<Broker> broker = BrokerFor(SmallJob(folder.Path("acl")));
  Peer server(Settings(broker->port(), ps::kServerUser, kUpward));
  Peer first(Settings(broker->port(), "w1", kEverybodysPull));
  Peer second(Settings(broker->port(), "w2", kEverybodysPull));
  CheckEverybodyKeepsToHisOwn({"job"}, &server, &first, &second);
  // A segment and what is around it fit, with room to spare.
  CHECK(first.limits.payload_bytes >= (256 << 10) + 2'048);
}

TEST(BrokerConfig, WithCertificatesANameIsWhatTheCertificateSays) {
  const apps::ScratchFolder folder;
  const Certificates files;
  files.MakeAuthority("ca");
  files.MakeServer("broker", "ca", "IP:127.0.0.1");
  const std::string last_server = ps::ServerUser(2, 3);
  for (const std::string& name : {last_server, std::string("w1"), std::string("w2")}) {
    files.MakeDevice(name, "ca");
  }
  ps::BrokerJob job = SmallJob(folder.Path("acl"));
  job.shards = 3;
  job.tls = {.ca_file = files.Certificate("ca"),
             .certificate_file = files.Certificate("broker"),
             .key_file = files.Key("broker")};
  const std::unique_ptr<Broker> broker = BrokerFor(job);
  const auto device = [&](const std::string& name, const std::vector<std::string>& subscriptions) {
    MqttSetting setting = Settings(broker->port(), name, subscriptions);
    // F30: neither the user name nor the client id it claims counts.
    setting.username = "w2";
    setting.client_id = "w2";
    setting.ca_file = files.Certificate("ca");
    setting.certificate_file = files.Certificate(name);
    setting.key_file = files.Key(name);
    return setting;
  };
  Peer server(device(last_server, kUpward));
  Peer first(device("w1", kEverybodysPull));
  Peer second(device("w2", kEverybodysPull));
  CheckEverybodyKeepsToHisOwn({"job:2"}, &server, &first, &second);
  CHECK(Refused(&server, TopicOf("job:1", "w1", Lane::kPull)));
  CHECK_EQUAL(1, second.connections);
}

TEST(BrokerConfig, AServerAloneMaySayWhomTheGuardShutsOut) {
  const apps::ScratchFolder folder;
  ps::BrokerJob job = SmallJob(folder.Path("acl"));
  CHECK(ps::PlanBroker(job)->config.find("plugin") == std::string::npos);
  job.guard_file = "/usr/lib/weft/weft_guard.so";
  const ps::BrokerPlan plan = *ps::PlanBroker(job);
  STRCMP_CONTAINS("\nplugin /usr/lib/weft/weft_guard.so\n", plan.config.c_str());
  const size_t may = plan.acl.find("$CONTROL");
  CHECK(may != std::string::npos && may > plan.acl.find("user ps\n"));
  CHECK_EQUAL(may, plan.acl.rfind("$CONTROL"));
  job.guard_file = "guard.so\nallow_anonymous true";
  CHECK_FALSE(ps::PlanBroker(job).ok());
}

TEST(BrokerConfig, OnLoopbackOnlyThisMachineIsServed) {
  const Result<ps::BrokerPlan> plan = ps::PlanBroker(SmallJob("acl"));
  CHECK(plan.ok());
  STRCMP_CONTAINS("listener 8883 127.0.0.1\n", plan->config.c_str());
  CHECK(plan->config.find("require_certificate") == std::string::npos);
}

TEST(BrokerConfig, WhoIsShutOutHasNoRightsOnceTheBrokerHasReadItsFilesAgain) {
  const apps::ScratchFolder folder;
  ps::BrokerJob job = SmallJob(folder.Path("acl"));
  const std::unique_ptr<Broker> broker = BrokerFor(job);
  Peer server(Settings(broker->port(), ps::kServerUser, kUpward));
  Peer first(Settings(broker->port(), "w1", kEverybodysPull));
  CHECK(server.AwaitConnected());
  CHECK(first.AwaitConnected());
  first.Say(TopicOf("job", "w1", Lane::kPush), "mine");
  CHECK(server.AwaitMessages(1));
  job.shut_out = {"w1"};
  apps::WriteAll(job.acl_path, ps::PlanBroker(job)->acl);
  broker->Reload();
  // It stays connected; when the broker has read the file is not ours to know.
  CHECK(first.Until([&] {
    first.Say(TopicOf("job", "w1", Lane::kPush), "mine");
    return !first.problems.empty();
  }));
  STRCMP_CONTAINS("does not let", first.problems[0].second.message().c_str());
}

TEST(BrokerConfig, WhatDoesNotFitIsWarnedOfWithAWindowThatWould) {
  ps::BrokerJob job = SmallJob("acl");
  STRCMP_EQUAL("", ps::PlanBroker(job)->warning.c_str());
  // Eight windows of 256 MiB, both ways, are 4 GiB.
  job.workers = 8;
  job.window_bytes = 256 << 20;
  const Result<ps::BrokerPlan> plan = ps::PlanBroker(job);
  CHECK(plan->memory_bytes > int64_t{4} << 30);
  CHECK(plan->memory_bytes < int64_t{5} << 30);
  STRCMP_CONTAINS("8 workers with windows of 256 MiB may fill the broker with 4",
                  plan->warning.c_str());
  const std::string marker = "windows of ";
  const size_t at = plan->warning.rfind(marker);
  job.window_bytes = std::stoll(plan->warning.substr(at + marker.size()));
  CHECK(job.window_bytes > 50 << 20);
  STRCMP_EQUAL("", ps::PlanBroker(job)->warning.c_str());
  job.window_bytes += job.segment_bytes;
  CHECK(!ps::PlanBroker(job)->warning.empty());

  // The smallest job has room for the connections of 500 strangers.
  job.workers = 1;
  job.segment_bytes = job.window_bytes = 1024;
  const int64_t least = ps::PlanBroker(job)->memory_bytes;
  CHECK(least >
        500 * (54 << 10));  // as measured: of one that has sent half of what TLS begins with
  CHECK(least < 64 << 20);
  STRCMP_CONTAINS("max_connections 504\n", ps::PlanBroker(job)->config.c_str());

  job.memory_limit_bytes = 1'000'000;
  STRCMP_CONTAINS("fewer workers", ps::PlanBroker(job)->warning.c_str());
}

// Each pair of a worker and a server has a window of its own.
TEST(BrokerConfig, SeveralServersNeedTheMemoryOfAsManyWindows) {
  ps::BrokerJob one = SmallJob("acl");
  ps::BrokerJob several = one;
  one.workers = 8;
  several.shards = 4;
  const Result<ps::BrokerPlan> plan = ps::PlanBroker(several);
  const auto about = static_cast<double>(ps::PlanBroker(one)->memory_bytes);
  // What is in flight is limited by connection, of which there are fewer here.
  DOUBLES_EQUAL(about, static_cast<double>(plan->memory_bytes), about / 5);
  // A worker hears all four.
  STRCMP_CONTAINS("max_queued_messages 384\n", plan->config.c_str());
  several.workers = 50'000;
  STRCMP_CONTAINS("at most 100000 pairs", ps::PlanBroker(several).status().message().c_str());
}

TEST(BrokerConfig, NumbersThatMakeNoSenseAreRefused) {
  const auto refused = [](const ps::BrokerJob& job) { return !ps::PlanBroker(job).ok(); };
  const ps::BrokerJob good = SmallJob("acl");
  CHECK_FALSE(refused(good));
  ps::BrokerJob job = good;
  job.job = "a/b";
  CHECK(refused(job));
  job = good;
  job.workers = 0;
  CHECK(refused(job));
  job = good;
  job.window_bytes = job.segment_bytes - 1;
  CHECK(refused(job));
  job = good;
  job.acl_path = "acl\nallow_anonymous true";
  CHECK(refused(job));
  job = good;
  job.tls = {.ca_file = "ca", .certificate_file = "", .key_file = "key"};
  CHECK(refused(job));
  job = good;
  job.shards = 0;
  CHECK(refused(job));
  job = good;
  job.shut_out = {"w1\ntopic readwrite #"};
  CHECK(refused(job));
}

}  // namespace weft::net
