// SPDX-License-Identifier: Apache-2.0
// The guard in a real broker: what the access list cannot refuse, it sends away.
#include "net/topics.h"
#include "tests/cluster/attacked_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// Mallory, by MQTT 3.1 and 3.1.1, connects anew for each of these and does what it says.
template <typename Act>
void CheckOldClientsAreSentAway(const Act& act) {
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const int version : {3, 4}) {
    const std::unique_ptr<RawClient> mallory = cluster.Join("mallory", {.version = version});
    act(*mallory);
    CHECK_FALSE(mallory->Next());
    CHECK_FALSE(mallory->open());
  }
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*mallory);
}

void ShutOut(AttackedCluster& cluster, const std::string& name) {
  CHECK_EQUAL(0, cluster.server().Publish({.topic = net::kShutOutTopic, .payload = name}));
}

}  // namespace

TEST_GROUP(GuardAgainstOldClients){};

TEST(GuardAgainstOldClients, WhoPublishWhatIsTheirOwn) {
  CheckOldClientsAreSentAway([](RawClient& mallory) {
    CHECK_EQUAL(-2, mallory.Publish({.topic = "weft/job/mallory/push"}));
  });
}
TEST(GuardAgainstOldClients, WhoPublishAtQos0) {
  CheckOldClientsAreSentAway(
      [](RawClient& mallory) { mallory.Publish({.topic = "weft/job/mallory/ctl", .qos = 0}); });
}
TEST(GuardAgainstOldClients, WhoPublishWhatIsAnothers) {
  CheckOldClientsAreSentAway([](RawClient& mallory) {
    CHECK_EQUAL(-2, mallory.Publish({.topic = "weft/job/victim/push"}));
  });
}
TEST(GuardAgainstOldClients, WhoListenToWhatIsTheirOwn) {
  CheckOldClientsAreSentAway(
      [](RawClient& mallory) { CHECK_EQUAL(-2, mallory.Subscribe("weft/job/mallory/pull", 1)); });
}
TEST(GuardAgainstOldClients, WhoListenToAll) {
  CheckOldClientsAreSentAway(
      [](RawClient& mallory) { CHECK_EQUAL(-2, mallory.Subscribe("#", 0)); });
}
TEST(GuardAgainstOldClients, AlsoAfterTheBrokerHasReadItsFilesAgain) {
  AttackedCluster::Get().Reload();
  CheckOldClientsAreSentAway([](RawClient& mallory) {
    CHECK_EQUAL(-2, mallory.Publish({.topic = "weft/job/mallory/push"}));
  });
}
TEST(GuardAgainstOldClients, WhoseWillIsNotPublishedEither) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawTls tls = cluster.Device("mallory");
  RawClient dying(cluster.port(), &tls);
  CHECK_EQUAL(0, dying.Connect({.version = 4, .will_topic = "weft/job/mallory/ctl"}));
  dying.Vanish();
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*mallory);
}

TEST_GROUP(GuardAgainstFloods){};

TEST(GuardAgainstFloods, WhomAServerNamesIsSentAwayAndHearsNothingAndNobodyElse) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> quiet = cluster.Join("flooder");
  CHECK_EQUAL(1, quiet->Subscribe("weft/job/flooder/pull", 1));
  ShutOut(cluster, "flooder");
  // It hears nothing any more, and is sent away by what it does next.
  const std::string marker = cluster.NewMarker();
  cluster.server().Publish({.topic = "weft/job/flooder/pull", .payload = marker});
  CHECK_EQUAL(-2, quiet->Publish({.topic = "weft/job/flooder/push"}));
  CHECK_FALSE(quiet->open());
  CHECK_EQUAL(0u, quiet->waiting());
  for (int i = 0; i < 3; ++i) {
    const std::unique_ptr<RawClient> again = cluster.Join("flooder");
    CHECK_EQUAL(-2, again->Publish({.topic = "weft/job/flooder/ctl"}));
  }
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*mallory);
}

TEST(GuardAgainstFloods, ADeviceCannotShutOutAnother) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  for (const char* name : {"victim", "ps"}) {
    CHECK_EQUAL(kNotAuthorised, mallory->Publish({.topic = net::kShutOutTopic, .payload = name}));
  }
  for (const char* name : {"victim", "ps"}) {
    cluster.Join("mallory")->Publish({.topic = net::kShutOutTopic, .payload = name, .qos = 0});
  }
  cluster.CheckNobodyHeard(*cluster.Join("mallory"));
}

TEST(GuardAgainstFloods, WhoPublishesAtQos0IsSentAwayUnheard) {
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const char* topic :
       {"weft/job/mallory/push", "weft/job/mallory/ctl", "weft/job/victim/ctl"}) {
    const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
    for (int i = 0; i < 10; ++i) mallory->Publish({.topic = topic, .qos = 0});
    CHECK_FALSE(mallory->Next());
    CHECK_FALSE(mallory->open());
  }
  cluster.CheckNobodyHeard(*cluster.Join("mallory"));
}

TEST(GuardAgainstFloods, WhatIsNoNameShutsOutNobody) {
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const std::string& name : {std::string(), std::string("#"), std::string("mallory\0", 8),
                                  std::string("victim/../mallory"), std::string(100'000, 'm')}) {
    ShutOut(cluster, name);
  }
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*mallory);
}

}  // namespace weft::apps
