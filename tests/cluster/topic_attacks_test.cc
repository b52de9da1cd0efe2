// SPDX-License-Identifier: Apache-2.0
// F28, F29, F31: an enrolled device reaches for topics that are not its own, in every way MQTT
// offers. The broker says no where the protocol lets it, and in any case nobody hears of it.
#include <vector>

#include "tests/cluster/attacked_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(AttackByPublishing){};

TEST(AttackByPublishing, WhatIsItsOwnItMayPublish) {  // or the others would prove nothing
  for (const int qos : {0, 1}) {
    AttackedCluster& cluster = AttackedCluster::For({.topic = "", .qos = qos});
    const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
    for (const char* lane : {"ctl", "push", "telemetry"}) {
      const std::string marker = cluster.NewMarker();
      mallory->Publish(
          {.topic = std::string("weft/job/mallory/") + lane, .payload = marker, .qos = qos});
      STRCMP_EQUAL("", Joined(cluster.server().HearUntil(marker)).c_str());
    }
  }
}

TEST(AttackByPublishing, AnotherDevicesControlAtQos0) {
  CheckPublishBlocked({.topic = "weft/job/victim/ctl", .qos = 0});
}
TEST(AttackByPublishing, AnotherDevicesControlAtQos1) {
  CheckPublishBlocked({.topic = "weft/job/victim/ctl"});
}
TEST(AttackByPublishing, AnotherDevicesGradientsAtQos0) {
  CheckPublishBlocked({.topic = "weft/job/victim/push", .qos = 0});
}
TEST(AttackByPublishing, AnotherDevicesGradientsAtQos1) {
  CheckPublishBlocked({.topic = "weft/job/victim/push"});
}
TEST(AttackByPublishing, AnotherDevicesTelemetryAtQos0) {
  CheckPublishBlocked({.topic = "weft/job/victim/telemetry", .qos = 0});
}
TEST(AttackByPublishing, AnotherDevicesTelemetryAtQos1) {
  CheckPublishBlocked({.topic = "weft/job/victim/telemetry"});
}
TEST(AttackByPublishing, ParametersToAnotherDeviceAtQos0) {
  CheckPublishBlocked({.topic = "weft/job/victim/pull", .qos = 0});
}
TEST(AttackByPublishing, ParametersToAnotherDeviceAtQos1) {
  CheckPublishBlocked({.topic = "weft/job/victim/pull"});
}
TEST(AttackByPublishing, ParametersToItselfAsTheServerWould) {
  CheckPublishBlocked({.topic = "weft/job/mallory/pull"});
}
TEST(AttackByPublishing, UnderTheServersName) { CheckPublishBlocked({.topic = "weft/job/ps/ctl"}); }
TEST(AttackByPublishing, WhereServersTellEachOtherThatTheyAreThere) {
  CheckPublishBlocked({.topic = "weft/job/servers", .qos = 0});
  CheckPublishBlocked({.topic = "weft/job/servers"});
}
TEST(AttackByPublishing, InAnotherJobUnderItsOwnName) {
  CheckPublishBlocked({.topic = "weft/other/mallory/push"});
}
TEST(AttackByPublishing, ToAnotherServerOfTheJob) {
  CheckPublishBlocked({.topic = "weft/job:1/mallory/push"});
}
TEST(AttackByPublishing, ToTheBrokersOwnTopics) {
  CheckPublishBlocked({.topic = "$SYS/broker/clients/connected"});
}
TEST(AttackByPublishing, ToTheBrokersControl) {
  CheckPublishBlocked({.topic = "$CONTROL/dynamic-security/v1"});
}
TEST(AttackByPublishing, ToATopicThatOnlyLooksLikeItsOwn) {
  for (const char* topic :
       {"weft/job/mallory", "weft/job/mallory/push/", "weft/job/mallory/push/more",
        "/weft/job/mallory/push", "weft//mallory/push", "WEFT/job/mallory/push",
        "weft/job/Mallory/push", "weft/job/mallory/pushes", "weft/job/mallory2/push"}) {
    CheckPublishBlocked({.topic = topic});
  }
}
TEST(AttackByPublishing, ToAWildcard) {
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const char* topic : {"weft/job/+/pull", "weft/#", "#", "$share/g/weft/job/victim/pull"}) {
    std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
    CHECK(mallory->Publish({.topic = topic}) != 0);  // -2: sent away
    mallory = cluster.Join("mallory");
    cluster.CheckNobodyHeard(*mallory);
  }
}
TEST(AttackByPublishing, RetainedForTheServersNextStart) {
  AttackedCluster& cluster = AttackedCluster::Get();
  std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  CHECK_EQUAL(-2, mallory->Publish({.topic = "weft/job/mallory/push", .retain = true}));
  mallory = cluster.Join("mallory");
  CHECK_EQUAL(1, cluster.server().Subscribe("weft/job/+/push", 1));  // retained ones come now
  cluster.CheckNobodyHeard(*mallory);
}
TEST(AttackByPublishing, RetainedByAnOldClient) {
  AttackedCluster& cluster = AttackedCluster::Unguarded();
  std::unique_ptr<RawClient> mallory = cluster.Join("mallory", {.version = 4});
  mallory->Publish({.topic = "weft/job/mallory/push", .retain = true});
  mallory = cluster.Join("mallory");
  // It may have been taken for an ordinary one, once; it must not come again.
  const std::string marker = cluster.NewMarker();
  mallory->Publish({.topic = "weft/job/mallory/ctl", .payload = marker});
  cluster.server().HearUntil(marker);
  CHECK_EQUAL(1, cluster.server().Subscribe("weft/job/+/push", 1));
  cluster.CheckNobodyHeard(*mallory);
}
TEST(AttackByPublishing, AtQos2) {
  AttackedCluster& cluster = AttackedCluster::Get();
  std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  CHECK_EQUAL(-2, mallory->Publish({.topic = "weft/job/victim/push", .qos = 2}));
  mallory = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*mallory);
}
TEST(AttackByPublishing, ByAnOldClientThatIsToldNothing) {
  AttackedCluster& cluster = AttackedCluster::Unguarded();
  for (const int version : {3, 4}) {
    const std::unique_ptr<RawClient> mallory = cluster.Join("mallory", {.version = version});
    for (const char* topic : {"weft/job/victim/push", "weft/job/victim/pull", "weft/job/ps/ctl"}) {
      for (const int qos : {0, 1}) mallory->Publish({.topic = topic, .qos = qos});
    }
    cluster.CheckNobodyHeard(*mallory);
  }
}

TEST_GROUP(AttackByWill){};

TEST(AttackByWill, WhatIsItsOwnItMayLeave) {  // or the others would prove nothing
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::string marker = cluster.NewMarker();
  const std::unique_ptr<RawClient> mallory =
      cluster.Join("mallory", {.will_topic = "weft/job/mallory/ctl", .will_payload = marker});
  mallory->Vanish();
  STRCMP_EQUAL("", Joined(cluster.server().HearUntil(marker)).c_str());
}

TEST(AttackByWill, OnAnotherDevicesControlAtQos0) {
  CheckWillBlocked({.will_topic = "weft/job/victim/ctl", .will_qos = 0});
}
TEST(AttackByWill, OnAnotherDevicesControlAtQos1) {
  CheckWillBlocked({.will_topic = "weft/job/victim/ctl"});
}
TEST(AttackByWill, WhereServersTellEachOtherThatTheyAreThere) {
  CheckWillBlocked({.will_topic = "weft/job/servers"});
}
TEST(AttackByWill, AsParametersToAnotherDevice) {
  CheckWillBlocked({.will_topic = "weft/job/victim/pull"});
}
TEST(AttackByWill, ByAnOldClient) {
  CheckWillBlocked({.version = 4, .will_topic = "weft/job/victim/pull"});
}
TEST(AttackByWill, Retained) {
  constexpr int kRetainNotSupported = 154;
  CheckWillBlocked({.will_topic = "weft/job/mallory/ctl", .will_retain = true},
                   kRetainNotSupported);
}
TEST(AttackByWill, AtQos2) {
  constexpr int kQosNotSupported = 155;
  CheckWillBlocked({.will_topic = "weft/job/mallory/ctl", .will_qos = 2}, kQosNotSupported);
}
TEST(AttackByWill, OnTheBrokersOwnTopics) {
  CheckWillBlocked({.will_topic = "$SYS/broker/mallory"});
}
TEST(AttackByWill, AsIfABridgeOfTheBrokers) {  // the one kind that brokers take from others
  CheckWillBlocked({.will_topic = "$SYS/broker/connection/mallory/state"});
}
TEST(AttackByWill, InAnotherJob) { CheckWillBlocked({.will_topic = "weft/other/mallory/ctl"}); }

TEST_GROUP(AttackByListening){};

TEST(AttackByListening, ToAnotherDevicesParametersAtQos0) {
  CheckListenerHearsNothing("weft/job/victim/pull", 0);
}
TEST(AttackByListening, ToAnotherDevicesParametersAtQos1) {
  CheckListenerHearsNothing("weft/job/victim/pull", 1);
}
TEST(AttackByListening, ToAnotherDevicesGradients) {
  CheckListenerHearsNothing("weft/job/victim/push", 1);
}
TEST(AttackByListening, ToAnotherDevicesControl) {
  CheckListenerHearsNothing("weft/job/victim/ctl", 1);
}
TEST(AttackByListening, ToEverybodysTelemetry) {
  CheckListenerHearsNothing("weft/job/+/telemetry", 1);
}
TEST(AttackByListening, ToEverybodysParameters) {
  CheckListenerHearsNothing("weft/+/victim/pull", 1);
}
TEST(AttackByListening, ToWhatItPublishesItself) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  mallory->Subscribe("weft/job/mallory/push", 1);
  CHECK_EQUAL(1, mallory->Subscribe("weft/job/mallory/pull", 1));
  cluster.CheckNobodyHeard(*mallory);
  const std::string end = cluster.NewMarker();
  cluster.server().Publish({.topic = "weft/job/mallory/pull", .payload = end});
  STRCMP_EQUAL("", Joined(mallory->HearUntil(end)).c_str());
}
TEST(AttackByListening, ToEverythingAtQos0) { CheckListenerHearsNothing("weft/job/victim/#", 0); }
TEST(AttackByListening, ToEverythingAtQos1) { CheckListenerHearsNothing("weft/job/victim/#", 1); }
TEST(AttackByListening, ThroughASharedSubscription) {
  CheckListenerHearsNothing("$share/g/weft/job/victim/#", 1);
}
TEST(AttackByListening, ThroughASharedSubscriptionToAll) {
  CheckListenerHearsNothing("$share/g/weft/job/+/push", 1);
}
TEST(AttackByListening, ByAnOldClient) { CheckListenerHearsNothing("weft/job/victim/#", 1, 4); }

// These also cover what is its own, which comes then more than once.
TEST(AttackByListening, ToAllThereIs) {
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const char* filter : {"#", "+/+/+/+", "weft/+/+/pull", "weft/#", "$share/g/#"}) {
    const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
    mallory->Subscribe(filter, 1);
    CHECK_EQUAL(1, mallory->Subscribe("weft/job/mallory/pull", 1));
    cluster.CheckUnharmed();
    const std::string end = cluster.NewMarker();
    cluster.server().Publish({.topic = "weft/job/mallory/pull", .payload = end});
    for (const std::string& topic : mallory->HearUntil(end)) {
      STRCMP_EQUAL("weft/job/mallory/pull", topic.c_str());
    }
  }
}

TEST(AttackByListening, ToTheBrokersOwnTopics) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  mallory->Subscribe("$SYS/#", 1);
  mallory->Subscribe("$SYS/broker/uptime", 0);
  CHECK_EQUAL(1, mallory->Subscribe("weft/job/mallory/pull", 1));
  CHECK_EQUAL(0, cluster.server().Subscribe("$SYS/broker/uptime", 0));
  // The server may hear it; once it has, mallory would have, too.
  STRCMP_EQUAL("", Joined(cluster.server().HearUntil(" seconds")).c_str());
  cluster.server().Unsubscribe("$SYS/broker/uptime");
  const std::string end = cluster.NewMarker();
  cluster.server().Publish({.topic = "weft/job/mallory/pull", .payload = end});
  STRCMP_EQUAL("", Joined(mallory->HearUntil(end)).c_str());
}

}  // namespace weft::apps
