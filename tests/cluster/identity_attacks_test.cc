// SPDX-License-Identifier: Apache-2.0
// F30: an enrolled device pretends to be another. Whatever it claims, it is who its certificate
// says.
#include "tests/cluster/attacked_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// Mallory connects with these claims; it is mallory all the same, and the victim is still there.
void CheckIsMallory(const RawConnect& claims) {
  AttackedCluster& cluster = AttackedCluster::For(claims);
  const RawTls tls = cluster.Device("mallory");
  RawClient mallory(cluster.port(), &tls);
  CHECK_EQUAL(0, mallory.Connect(claims));
  CHECK(cluster.victim().Alive());
  CHECK(cluster.server().Alive());
  for (const char* topic :
       {"weft/job/victim/push", "weft/job/victim/pull", "weft/job/mallory/pull"}) {
    const int reason = mallory.Publish({.topic = topic});
    if (claims.version == 5) CHECK_EQUAL(kNotAuthorised, reason);
  }
  cluster.CheckNobodyHeard(mallory);
}

}  // namespace

TEST_GROUP(AttackOnIdentity){};

TEST(AttackOnIdentity, AnotherDevicesClientId) { CheckIsMallory({.client_id = "victim"}); }
TEST(AttackOnIdentity, TheServersClientId) { CheckIsMallory({.client_id = "ps"}); }
TEST(AttackOnIdentity, AnotherDevicesUserName) {
  CheckIsMallory({.client_id = "mallory", .username = "victim"});
}
TEST(AttackOnIdentity, TheServersUserName) {
  CheckIsMallory({.client_id = "mallory", .username = "ps"});
}
TEST(AttackOnIdentity, TheServersUserNameAndAPassword) {
  CheckIsMallory({.client_id = "ps", .username = "ps", .password = "ps"});
}
TEST(AttackOnIdentity, AUserNameThatIsAWildcard) {
  CheckIsMallory({.client_id = "+", .username = "+"});
  CheckIsMallory({.client_id = "#", .username = "#"});
}
TEST(AttackOnIdentity, ByAnOldClient) {
  CheckIsMallory({.version = 4, .client_id = "victim", .username = "victim", .password = ""});
}
TEST(AttackOnIdentity, NoClientIdAtAll) { CheckIsMallory({}); }

TEST(AttackOnIdentity, AnotherDevicesSessionIsNotTakenOver) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawConnect lasting{.client_id = "sleeper", .clean = false, .session_expiry_s = 600};
  std::unique_ptr<RawClient> sleeper = cluster.Join("sleeper", lasting);
  CHECK_EQUAL(1, sleeper->Subscribe("weft/job/sleeper/pull", 1));
  sleeper->Vanish();
  const std::string waiting = cluster.NewMarker();
  CHECK_EQUAL(0, cluster.server().Publish({.topic = "weft/job/sleeper/pull", .payload = waiting}));

  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory", lasting);  // as "sleeper"
  CHECK_FALSE(mallory->session_present());
  CHECK_EQUAL(1, mallory->Subscribe("weft/job/mallory/pull", 1));
  const std::string end = cluster.NewMarker();
  cluster.server().Publish({.topic = "weft/job/mallory/pull", .payload = end});
  STRCMP_EQUAL("", Joined(mallory->HearUntil(end)).c_str());

  sleeper = cluster.Join("sleeper", lasting);
  CHECK(sleeper->session_present());
  STRCMP_EQUAL("", Joined(sleeper->HearUntil(waiting)).c_str());
}

TEST(AttackOnIdentity, ASecondConnectionTakesThePlaceOfItsOwnFirstOnly) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> first = cluster.Join("mallory");
  const std::unique_ptr<RawClient> second = cluster.Join("mallory", {.client_id = "victim"});
  first->SentAwayWith();  // with 0x8e, if the broker's words are quicker than its hanging up
  CHECK_FALSE(first->open() && first->Next());
  CHECK_FALSE(first->open());
  cluster.CheckNobodyHeard(*second);
}

TEST(AttackOnIdentity, TheServersCertificateIsNoDevice) {
  // Should it be stolen, it still cannot send gradients in a device's name.
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const char* topic : {"weft/job/victim/push", "weft/job/victim/ctl", "weft/job/ps/push"}) {
    CHECK_EQUAL(kNotAuthorised, cluster.server().Publish({.topic = topic}));
  }
  cluster.CheckUnharmed();
}

TEST(AttackOnIdentity, NoDeviceIsEnrolledUnderTheServersName) {
  Result<ClusterFolder> folder = ClusterFolder::Open(AttackedCluster::Get().folder());
  CHECK(folder.ok());
  CHECK_FALSE(folder->Add("ps", {}, NowSeconds()).ok());
}

}  // namespace weft::apps
