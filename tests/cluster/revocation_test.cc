// SPDX-License-Identifier: Apache-2.0
// F39: a device that is revoked, once the broker has read its files again: it cannot come back,
// and if it is still connected it has no rights left. And a broker whose certificate is renewed.
#include <chrono>

#include "tests/cluster/attacked_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

// Asks the broker to read its files, and again and again for what follows from it.
template <typename Happened>
bool HappensAfterReload(const Happened& happened) {
  AttackedCluster::Get().Reload();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    if (happened()) return true;
  }
  return false;
}

void Revoke(const std::string& device) {
  Result<ClusterFolder> folder = ClusterFolder::Open(AttackedCluster::Get().folder());
  CHECK(folder.ok());
  CHECK(folder->Revoke(device, NowSeconds()).ok());
}

bool LetIn(const RawTls& tls) {
  RawClient device(AttackedCluster::Get().port(), &tls);
  return device.Connect({.client_id = "any"}) == 0;
}

}  // namespace

TEST_GROUP(Revocation){};

TEST(Revocation, ARevokedDeviceIsNotLetInAndOthersStayConnected) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawTls tls = cluster.Device("lost");
  CHECK(LetIn(tls));
  Revoke("lost");
  CHECK(HappensAfterReload([&] { return !LetIn(tls); }));
  CheckNotLetIn(tls, SSL_AD_CERTIFICATE_REVOKED);  // and so it remains
  CHECK(LetIn(cluster.Device("another")));
  cluster.CheckUnharmed();
}

TEST(Revocation, AConnectedDeviceLosesAllRightsAtOnce) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> stolen = cluster.Join("stolen");
  CHECK_EQUAL(1, stolen->Subscribe("weft/job/stolen/pull", 1));
  const std::string before = cluster.NewMarker();
  cluster.server().Publish({.topic = "weft/job/stolen/pull", .payload = before});
  STRCMP_EQUAL("", Joined(stolen->HearUntil(before)).c_str());
  Revoke("stolen");
  CHECK(HappensAfterReload([&] {
    const std::string marker = cluster.NewMarker();
    if (stolen->Publish({.topic = "weft/job/stolen/ctl", .payload = marker}) == kNotAuthorised) {
      return true;
    }
    cluster.server().HearUntil(marker);
    return false;
  }));
  for (const char* lane : {"push", "telemetry", "ctl"}) {
    CHECK_EQUAL(kNotAuthorised, stolen->Publish({.topic = std::string("weft/job/stolen/") + lane}));
  }
  // Nor does it hear what the server, which may not know yet, still says to it.
  cluster.server().Publish({.topic = "weft/job/stolen/pull"});
  CHECK(stolen->Alive());
  CHECK_EQUAL(0, stolen->waiting());
  cluster.CheckUnharmed();
}

TEST(Revocation, ADeviceThatIsEnrolledAnewIsLetInAndItsOldCertificateIsNot) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawTls old = cluster.Device("replaced");
  const Identity kept{.certificate = ReadAll(old.certificate), .key = ReadAll(old.key)};
  Revoke("replaced");
  CHECK(HappensAfterReload([&] { return !LetIn(old); }));
  const RawTls renewed = cluster.Device("replaced");  // enrols it again
  // Before the broker reads its files it is still without rights; then it has them back.
  CHECK(HappensAfterReload([&] {
    const std::unique_ptr<RawClient> device = cluster.Join("replaced");
    const std::string marker = cluster.NewMarker();
    const int reason = device->Publish({.topic = "weft/job/replaced/ctl", .payload = marker});
    if (reason != 0) return false;
    cluster.server().HearUntil(marker);
    return true;
  }));
  CheckNotLetIn(cluster.Files("replaced-before", kept), SSL_AD_CERTIFICATE_REVOKED);
}

TEST(Revocation, ATlsSessionFromBeforeOpensNoDoor) {
  // A session that is taken up again shows no certificate; a broker that has read its files knows
  // none of the old sessions.
  AttackedCluster& cluster = AttackedCluster::Get();
  RawTls tls = cluster.Device("resumer");
  tls.most_version = TLS1_2_VERSION;  // where the session is there as soon as the handshake is done
  RawClient first(cluster.port(), &tls);
  CHECK_EQUAL(0, first.Connect({.client_id = "resumer"}));
  SSL_SESSION* session = first.TakeSession();
  CHECK(session != nullptr);
  tls.session = session;
  {
    RawClient again(cluster.port(), &tls);
    CHECK_EQUAL(0, again.Connect({.client_id = "resumer"}));
    CHECK(again.resumed());  // or what follows would prove nothing
  }
  Revoke("resumer");
  CHECK(HappensAfterReload([&] { return !LetIn(tls); }));
  SSL_SESSION_free(session);
}

TEST_GROUP(Renewal){};

TEST(Renewal, ABrokerThatHasReadItsFilesAgainIsKnownByItsOtherNameAndNobodyLosesItsConnection) {
  AttackedCluster& cluster = AttackedCluster::Get();
  RawTls tls = cluster.Device("another");
  tls.host = "localhost";
  CHECK_FALSE(RawClient(cluster.port(), &tls).open());
  CHECK(ClusterFolder::Open(cluster.folder())->Renew("localhost", NowSeconds()).ok());
  CHECK(HappensAfterReload([&] { return RawClient(cluster.port(), &tls).open(); }));
  CHECK(LetIn(cluster.Device("another")));
  cluster.CheckUnharmed();
}

}  // namespace weft::apps
