// SPDX-License-Identifier: Apache-2.0
// F32, F37: an enrolled device sends too much, too long, or what is no MQTT. It loses its own
// connection, or its own messages; the broker's memory stays within bounds, and the others work on.
// So they do beside strangers who only connect.
#include <filesystem>
#include <fstream>

#include "tests/cluster/attacked_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Resident, of the broker.
int64_t BrokerBytes(AttackedCluster& cluster = AttackedCluster::Get()) {
  std::ifstream status("/proc/" + std::to_string(cluster.broker().pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6)) * 1024;
  }
  return -1;
}

// Connections that the broker has open, and the port it listens on.
size_t BrokerSockets() {
  size_t sockets = 0;
  const std::string folder =
      "/proc/" + std::to_string(AttackedCluster::Get().broker().pid()) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;
    sockets += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:");
  }
  return sockets;
}

// Mallory, connected, sends these bytes and is sent away; nobody else notices.
void CheckSentAway(const std::string& bytes) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  mallory->Send(bytes);
  mallory->SentAwayWith();
  CHECK_FALSE(mallory->Next());
  CHECK_FALSE(mallory->open());
  const std::unique_ptr<RawClient> again = cluster.Join("mallory");
  cluster.CheckNobodyHeard(*again);
}

// A packet that says it is 256 MiB long, of which nothing comes.
const std::string kHugeHeader("\x30\xff\xff\xff\x7f", 5);

}  // namespace

TEST_GROUP(AttackByLoad){};

TEST(AttackByLoad, APacketLargerThanAllowed) {
  CheckSentAway(
      PublishBytes({.topic = "weft/job/mallory/push", .payload = std::string(400'000, 'x')}, 5, 7));
}

TEST(AttackByLoad, APacketThatOnlySaysItIsHuge) {
  const int64_t before = BrokerBytes();
  CheckSentAway(kHugeHeader);
  CHECK(BrokerBytes() < before + 16 * kMiB);
}

TEST(AttackByLoad, AHugePacketBeforeAnyConnect) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const int64_t before = BrokerBytes();
  const RawTls tls = cluster.Device("mallory");
  for (const char first : {'\x10', '\x30', '\x82'}) {
    RawClient mallory(cluster.port(), &tls);
    CHECK(mallory.open());
    mallory.Send(first + kHugeHeader.substr(1));
    CHECK_FALSE(mallory.Next());
    CHECK_FALSE(mallory.open());
  }
  CHECK(BrokerBytes() < before + 16 * kMiB);
  cluster.CheckUnharmed();
}

TEST(AttackByLoad, APublishBeforeAnyConnect) {
  AttackedCluster& cluster = AttackedCluster::Get();
  const RawTls tls = cluster.Device("mallory");
  RawClient mallory(cluster.port(), &tls);
  mallory.Send(PublishBytes({.topic = "weft/job/mallory/push"}, 5, 1));
  CHECK_FALSE(mallory.Next());
  CHECK_FALSE(mallory.open());
  cluster.CheckUnharmed();
}

TEST(AttackByLoad, ASecondConnect) {
  CheckSentAway(ConnectBytes({.client_id = "victim", .username = "victim"}));
}

TEST(AttackByLoad, ATopicAsLongAsTheyCanBe) {
  CheckPublishBlocked({.topic = "weft/job/mallory/" + std::string(65'000, 'x')});
}

TEST(AttackByLoad, ATopicOfVeryManyLevels) {
  std::string topic = "weft/job/mallory/push";
  for (int i = 0; i < 20'000; ++i) topic += "/x";
  CheckSentAway(PublishBytes({.topic = topic}, 5, 1));
}

TEST(AttackByLoad, AFilterOfVeryManyLevels) {
  std::string filter = "+";
  for (int i = 0; i < 20'000; ++i) filter += "/+";
  CheckSentAway(SubscribeBytes(filter, 1, 5, 1));
}

TEST(AttackByLoad, ATopicThatIsNoText) {
  CheckSentAway(PublishBytes({.topic = std::string("weft/job/mallory/push\0/x", 24)}, 5, 1));
  CheckSentAway(PublishBytes({.topic = "weft/job/\xff\xfe/push"}, 5, 1));
}

TEST(AttackByLoad, BytesThatAreNoMqtt) {
  CheckSentAway(std::string("\xf0\x00", 2));                  // a packet that does not belong there
  CheckSentAway(std::string("\x00\x00", 2));                  // of a type that does not exist
  CheckSentAway(std::string("\x32\xff\xff\xff\xff\x01", 6));  // of a length that cannot be
}

TEST(AttackByLoad, ManyConnectionsOfOneDeviceAreOne) {
  AttackedCluster& cluster = AttackedCluster::Get();
  std::vector<std::unique_ptr<RawClient>> all;
  const size_t before = BrokerSockets();
  for (int i = 0; i < 30; ++i) {
    all.push_back(cluster.Join("mallory", {.client_id = "id" + std::to_string(i)}));
  }
  CHECK(BrokerSockets() <= before + 1);
  CHECK(cluster.victim().Alive());
  cluster.CheckNobodyHeard(*all.back());
}

// The broker counts them before they have shown who they are.
TEST(AttackByLoad, SilentConnectionsOfStrangersKeepNobodyOut) {
  AttackedCluster& cluster = AttackedCluster::Get();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(std::make_unique<RawClient>(cluster.port(), nullptr));
    CHECK(silent.back()->open());
  }
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  CHECK(BrokerSockets() > silent.size());  // they are all there
  cluster.CheckNobodyHeard(*mallory);
}

// 128 MiB go out while the server reads nothing. Its queue is full then, and what is too much is
// dropped; once it reads again, it hears the others again.
void CheckFloodIsBounded(int qos) {
  AttackedCluster& cluster = AttackedCluster::For({.topic = "", .qos = qos});
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  const std::string payload(64 << 10, 'x');
  const int64_t before = BrokerBytes(cluster);
  for (int i = 0; i < 2'000; ++i) {
    mallory->Publish({.topic = "weft/job/mallory/push", .payload = payload, .qos = qos});
  }
  CHECK(mallory->Alive());
  CHECK(BrokerBytes(cluster) < before + 64 * kMiB);
  cluster.server().Drain();
  cluster.CheckNobodyHeard(*mallory);
}

TEST(AttackByLoad, AFloodAtQos0WhileTheServerIsBusy) { CheckFloodIsBounded(0); }
TEST(AttackByLoad, AFloodAtQos1WhileTheServerIsBusy) { CheckFloodIsBounded(1); }

TEST(AttackByLoad, AFloodAtBothWhileTheServerIsBusy) {
  AttackedCluster& cluster = AttackedCluster::Unguarded();
  const std::unique_ptr<RawClient> mallory = cluster.Join("mallory");
  const std::string payload(16 << 10, 'x');
  for (int i = 0; i < 8'000; ++i) {
    mallory->Publish({.topic = "weft/job/mallory/push", .payload = payload, .qos = i % 101 == 100});
  }
  CHECK(mallory->Alive());
  cluster.server().Drain();
  cluster.CheckNobodyHeard(*mallory);
}

}  // namespace weft::apps
