// SPDX-License-Identifier: Apache-2.0
// Of several servers of one job, one meets the workers. Fault F38.
#include "cloud_ps/job_claim.h"

#include <memory>
#include <vector>

#include "core/clock.h"
#include "net/loopback/loopback_net.h"
#include "net/topics.h"

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

// What a server behind a claim gets to see.
struct Seen final : net::TransportEvents {
  int connected = 0;
  int disconnected = 0;
  int messages = 0;
  void Connected(const net::ConnectionLimits&) override { ++connected; }
  void Disconnected(const Status&) override { ++disconnected; }
  void Received(const std::string&, net::Payload, bool) override { ++messages; }
  void PublishProblem(const std::string&, const Status&) override {}
};

// An endpoint must be told whom to call before the claim that publishes through it exists.
struct Later final : net::TransportEvents, net::Transport {
  net::TransportEvents* events = nullptr;
  std::unique_ptr<net::LoopbackNet::Endpoint> endpoint;
  void Connected(const net::ConnectionLimits& limits) override { events->Connected(limits); }
  void Disconnected(const Status& why) override { events->Disconnected(why); }
  void Received(const std::string& topic, net::Payload payload, bool retained) override {
    events->Received(topic, std::move(payload), retained);
  }
  void PublishProblem(const std::string& topic, const Status& why) override {
    events->PublishProblem(topic, why);
  }
  void Publish(const std::string& topic, net::Payload payload) override {
    endpoint->Publish(topic, std::move(payload));
  }
  void Poll(TransportEvents&, int64_t) override {}
  void Renew(const std::string&) override {}
  void Wake() override {}
  int64_t last_alive_ns() const override { return endpoint->last_alive_ns(); }
};

struct Candidate {
  Seen seen;
  Later wire;
  std::unique_ptr<JobClaim> claim;

  Candidate(net::LoopbackNet& net, uint64_t epoch, uint64_t instance, bool one_place = false) {
    claim =
        std::make_unique<JobClaim>(JobClaim::Setting{.job = "job",
                                                     .epoch = epoch,
                                                     .instance = instance,
                                                     .place = "process " + std::to_string(instance),
                                                     .one_place = one_place},
                                   wire, net.clock(), seen);
    wire.events = claim.get();
    wire.endpoint = net.Join([](const std::string&) { return true; }, wire);
    wire.endpoint->Connect();
  }
};

}  // namespace

TEST_GROUP(JobClaim) {
  net::LoopbackNet net{7, 1 << 20};
  std::vector<std::unique_ptr<Candidate>> servers;

  Candidate& Start(uint64_t epoch, uint64_t instance, bool one_place = false) {
    servers.push_back(std::make_unique<Candidate>(net, epoch, instance, one_place));
    return *servers.back();
  }
  void Run(int64_t ns) {
    const int64_t end = net.now_ns() + ns;
    for (int64_t at = net.now_ns(); at <= end; at += 10 * kNsPerMs) net.At(at, [] {});
    while (net.now_ns() < end && net.Step()) {
      for (const auto& server : servers) server->claim->Tick();
    }
  }
  // As a worker would say something.
  void Talk() {
    servers[0]->wire.Publish(net::TopicOf("job", "w1", net::Lane::kControl), net::Payload());
  }
};

TEST(JobClaim, AloneItHasTheJobAfterAMomentAndMeetsTheWorkersThen) {
  Candidate& only = Start(1, 10);
  Run(100 * kNsPerMs);
  Talk();
  Run(100 * kNsPerMs);
  CHECK_FALSE(only.claim->held());
  LONGS_EQUAL(0, only.seen.connected);
  LONGS_EQUAL(0, only.seen.messages);
  Run(kNsPerSecond);
  CHECK_TRUE(only.claim->held());
  LONGS_EQUAL(1, only.seen.connected);
  Talk();
  Run(100 * kNsPerMs);
  LONGS_EQUAL(1, only.seen.messages);
}

TEST(JobClaim, ASecondOneIsToldWhoHasTheJobAndNeverMeetsTheWorkers) {
  Candidate& first = Start(1, 10);
  Run(kNsPerSecond);
  Candidate& second = Start(99, 20);  // whatever its folder says
  Run(kNsPerSecond);
  CHECK_TRUE(first.claim->held());
  CHECK_TRUE(first.claim->lost().ok());
  CHECK_FALSE(second.claim->held());
  STRCMP_CONTAINS("ANOTHER_SERVER", second.claim->lost().message().c_str());
  STRCMP_CONTAINS("process 10", second.claim->lost().message().c_str());
  LONGS_EQUAL(0, second.seen.connected);
}

TEST(JobClaim, OfTwoThatStartAtOnceOneHasTheJob) {
  Candidate& first = Start(1, 10);
  Candidate& second = Start(1, 20);
  Run(2 * kNsPerSecond);
  CHECK_FALSE(first.claim->held());
  CHECK_FALSE(first.claim->lost().ok());
  CHECK_TRUE(second.claim->held());
  CHECK_TRUE(second.claim->lost().ok());
}

TEST(JobClaim, OfTwoThatServedApartTheLaterEpochStays) {
  Candidate& first = Start(5, 10);
  Run(kNsPerSecond);
  first.wire.endpoint->Cut(true);
  Candidate& second = Start(4, 20);
  Run(2 * kNsPerSecond);
  CHECK_TRUE(first.claim->held() && second.claim->held());
  first.wire.endpoint->Cut(false);
  net.RestartBroker(10 * kNsPerMs);
  Run(2 * kNsPerSecond);
  CHECK_TRUE(first.claim->lost().ok());
  CHECK_FALSE(second.claim->lost().ok());
}

TEST(JobClaim, SentAwayByItsDoubleTheNewcomerGivesWayAndTheOldOneStays) {
  Candidate& server = Start(1, 10);
  Run(kNsPerSecond);
  server.claim->Disconnected(Status::Unavailable("the network was down"));
  CHECK_TRUE(server.claim->lost().ok());
  server.claim->Connected({.payload_bytes = 1 << 20});
  Run(20 * kNsPerSecond);
  server.claim->Disconnected(Status::Taken("sent away"));
  CHECK_TRUE(server.claim->lost().ok());

  Candidate& newcomer = Start(1, 20);
  newcomer.claim->Disconnected(Status::Taken("sent away"));
  STRCMP_CONTAINS("ANOTHER_SERVER", newcomer.claim->lost().message().c_str());
}

TEST(JobClaim, HungUpOnTwiceWhereThereIsOnePlaceTheNewcomerGivesWay) {
  const Status hung_up = Status::Unavailable("closed the connection");
  Candidate& newcomer = Start(1, 20, /*one_place=*/true);
  Run(kNsPerSecond);  // where there is more than one place it would have the job by now
  CHECK_FALSE(newcomer.claim->held());
  newcomer.claim->Disconnected(hung_up);
  newcomer.claim->Disconnected(hung_up);  // an attempt that failed says nothing
  CHECK_TRUE(newcomer.claim->lost().ok());
  newcomer.claim->Connected({.payload_bytes = 1 << 20});
  newcomer.claim->Disconnected(hung_up);
  STRCMP_CONTAINS("ANOTHER_SERVER", newcomer.claim->lost().message().c_str());
}

TEST(JobClaim, WhoHasTheJobKeepsItHoweverOftenTheBrokerHangsUp) {
  Candidate& server = Start(1, 20, /*one_place=*/true);
  Run(3 * kNsPerSecond);
  CHECK_TRUE(server.claim->held());
  for (int i = 0; i < 5; ++i) {
    server.claim->Disconnected(Status::Unavailable("closed the connection"));
    server.claim->Connected({.payload_bytes = 1 << 20});
  }
  CHECK_TRUE(server.claim->lost().ok());
}

}  // namespace weft::ps
