// SPDX-License-Identifier: Apache-2.0
// F39: whoever has not been enrolled, or is no more, or speaks an old TLS or none, gets no further
// than the door.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/cluster/attacked_cluster.h"
#include "tests/cluster/permissive_server.h"
#include "tests/mqtt/certificates.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr int64_t kYear = 365 * 86'400;

RawTls Trusting() { return {.ca = AttackedCluster::Get().folder() + "/ca/ca.crt"}; }

RawTls With(const net::Certificates& files, const std::string& name) {
  RawTls tls = Trusting();
  tls.certificate = files.Certificate(name);
  tls.key = files.Key(name);
  return tls;
}

// A client of up to this version, whose certificate is good.
RawTls OfVersion(int version, const std::string& ciphers) {
  RawTls tls = AttackedCluster::Get().Device("mallory");
  tls.most_version = version;
  tls.ciphers = ciphers;
  return tls;
}

RawTls Tls10() { return OfVersion(TLS1_VERSION, "ALL:@SECLEVEL=0"); }
RawTls Tls11() { return OfVersion(TLS1_1_VERSION, "ALL:@SECLEVEL=0"); }
RawTls NotEncrypted() { return OfVersion(TLS1_2_VERSION, "eNULL:@SECLEVEL=0"); }
RawTls NotAuthenticated() { return OfVersion(TLS1_2_VERSION, "aNULL:@SECLEVEL=0"); }

// Bytes as they are on the TLS port are answered by hanging up, at most after an alert.
void CheckPlainBytesRefused(const std::string& bytes) {
  AttackedCluster& cluster = AttackedCluster::Get();
  RawClient mallory(cluster.port(), nullptr);
  CHECK(mallory.open());
  mallory.Send(bytes);
  while (const std::optional<RawPacket> packet = mallory.Next()) {
    CHECK(packet->type != 2);  // no CONNACK
  }
  CHECK_FALSE(mallory.open());
  cluster.CheckUnharmed();
}

}  // namespace

TEST_GROUP(AttackOnTls){};

TEST(AttackOnTls, AGoodCertificateIsLetInByTls12And13) {  // or the others would prove nothing
  AttackedCluster& cluster = AttackedCluster::Get();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const RawTls tls = OfVersion(version, "ALL:@SECLEVEL=0");
    RawClient device(cluster.port(), &tls);
    CHECK_EQUAL(0, device.Connect({.client_id = "mallory"}));
  }
}

TEST(AttackOnTls, NoCertificate) { CheckNotLetIn(Trusting(), SSL_AD_CERTIFICATE_REQUIRED); }

TEST(AttackOnTls, ACertificateThatSignedItself) {
  const net::Certificates files;
  files.MakeAuthority("victim");
  CheckNotLetIn(With(files, "victim"), SSL_AD_UNKNOWN_CA);
}

TEST(AttackOnTls, ACertificateOfAnotherAuthority) {
  const Identity other = Authority::Create(NowSeconds()).value();
  const Identity forged =
      Authority::Load(other).value().IssueClient("victim", NowSeconds()).value();
  CheckNotLetIn(AttackedCluster::Get().Files("forged", forged), SSL_AD_UNKNOWN_CA);
}

TEST(AttackOnTls, ACertificateOfAnotherAuthorityOfTheSameNameShownWithIt) {
  const Identity other = Authority::Create(NowSeconds()).value();
  Identity forged = Authority::Load(other).value().IssueClient("ps", NowSeconds()).value();
  forged.certificate += other.certificate;
  CheckNotLetIn(AttackedCluster::Get().Files("forged", forged), SSL_AD_UNKNOWN_CA);
}

TEST(AttackOnTls, ACertificateSignedByADevice) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawTls device = cluster.Device("mallory");
  const net::Certificates files;
  std::filesystem::copy_file(device.certificate, files.Certificate("mallory"));
  std::filesystem::copy_file(device.key, files.Key("mallory"));
  files.MakeDevice("ps", "mallory");
  WriteAll(files.Certificate("chain"),
           ReadAll(files.Certificate("ps")) + ReadAll(files.Certificate("mallory")));
  std::filesystem::copy_file(files.Key("ps"), files.Key("chain"));
  CheckNotLetIn(With(files, "chain"), SSL_AD_UNKNOWN_CA);
}

TEST(AttackOnTls, AnExpiredCertificate) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const int64_t long_ago = NowSeconds() - (Authority::kYears + 1) * kYear;
  CheckNotLetIn(
      cluster.Files("expired", cluster.authority().IssueClient("victim", long_ago).value()),
      SSL_AD_CERTIFICATE_EXPIRED);
}

TEST(AttackOnTls, ACertificateThatIsNotGoodYet) {
  AttackedCluster& cluster = AttackedCluster::Get();
  CheckNotLetIn(
      cluster.Files("early",
                    cluster.authority().IssueClient("victim", NowSeconds() + kYear).value()),
      SSL_AD_BAD_CERTIFICATE);
}

TEST(AttackOnTls, TheBrokersCertificateAsAClients) {
  const std::string broker = AttackedCluster::Get().folder() + "/broker/broker";
  RawTls tls = Trusting();
  tls.certificate = broker + ".crt";
  tls.key = broker + ".key";
  CheckNotLetIn(tls, SSL_AD_UNSUPPORTED_CERTIFICATE);
}

TEST(AttackOnTls, TheAuthoritysCertificateAsAClients) {
  const std::string authority = AttackedCluster::Get().folder() + "/ca/ca";
  RawTls tls = Trusting();
  tls.certificate = authority + ".crt";
  tls.key = authority + ".key";
  CheckNotLetIn(tls, SSL_AD_UNSUPPORTED_CERTIFICATE);
}

TEST(AttackOnTls, ADevicePosingAsTheBrokerIsNotBelieved) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawTls device = cluster.Device("mallory");
  // A broker of mallory's own, which asks for nothing.
  const net::Broker trap([&](int port) {
    return "listener " + std::to_string(port) + " 127.0.0.1\nallow_anonymous true\ncertfile " +
           device.certificate + "\nkeyfile " + device.key + "\n";
  });
  const RawTls victim = cluster.Device("victim");
  const RawClient trapped(trap.port(), &victim);
  CHECK_FALSE(trapped.open());
  CHECK_EQUAL(X509_V_ERR_INVALID_PURPOSE, trapped.refused());
  CHECK(RawClient(cluster.port(), &victim).open());
}

TEST(AttackOnTls,
     WhatIsOldOrEmptyIsTakenBySomebodyWhoAllowsIt) {  // or the next would prove nothing
  for (const RawTls& tls : {Tls10(), Tls11(), NotEncrypted(), NotAuthenticated()}) {
    const PermissiveServer server(AttackedCluster::Get().folder() + "/broker/broker");
    const RawClient client(server.port(), &tls);
    CHECK(client.open());
  }
}
TEST(AttackOnTls, Tls10) { CheckNotLetIn(Tls10(), SSL_AD_PROTOCOL_VERSION); }
TEST(AttackOnTls, Tls11) { CheckNotLetIn(Tls11(), SSL_AD_PROTOCOL_VERSION); }
TEST(AttackOnTls, Tls12WithoutEncryption) {
  CheckNotLetIn(NotEncrypted(), SSL_AD_HANDSHAKE_FAILURE);
}
TEST(AttackOnTls, Tls12WithoutAuthentication) {
  CheckNotLetIn(NotAuthenticated(), SSL_AD_HANDSHAKE_FAILURE);
}

TEST(AttackOnTls, PlainMqttOnTheTlsPort) {
  CheckPlainBytesRefused(ConnectBytes({.client_id = "victim", .username = "victim"}));
}
TEST(AttackOnTls, PlainMqttOfAnOldClientOnTheTlsPort) {
  CheckPlainBytesRefused(ConnectBytes({.version = 4, .client_id = "ps", .username = "ps"}));
}
TEST(AttackOnTls, HttpOnTheTlsPort) {
  CheckPlainBytesRefused("GET / HTTP/1.1\r\nHost: broker\r\n\r\n");
}

TEST(AttackOnTls, ThereIsNoOtherPort) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::string proc = "/proc/" + std::to_string(cluster.broker().pid());
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    std::error_code gone;
    const std::string to = std::filesystem::read_symlink(entry.path(), gone).string();
    if (to.starts_with("socket:[")) sockets.insert(to.substr(8, to.size() - 9));
  }
  std::vector<int> ports;
  for (const char* family : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream table(proc + family);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, skipped, inode;
      words >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> inode;
      if (state == "0A" && sockets.count(inode) == 1) {  // listening
        ports.push_back(std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16));
      }
    }
  }
  CHECK_EQUAL(1, ports.size());
  CHECK_EQUAL(cluster.port(), ports[0]);
}

}  // namespace weft::apps
