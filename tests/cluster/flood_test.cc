// SPDX-License-Identifier: Apache-2.0
// A device that sends all it can, and comes back as often as it is sent away.
#include <atomic>
#include <thread>

#include "tests/cluster/raw_client.h"
#include "tests/cluster/running_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// As another device, for as long as the job lasts, a hundred messages ahead of their answers. How
// often the broker sent it away.
int Flood(const RunningCluster& cluster, const std::atomic<bool>& over) {
  const std::string place = cluster.scratch.Path("mallory");
  const RawTls tls{
      .ca = place + "/ca.crt", .certificate = place + "/device.crt", .key = place + "/device.key"};
  const std::string payload(16 << 10, 'x');
  int sent_away = 0;
  while (!over) {
    RawClient mallory(cluster.broker.port(), &tls);
    mallory.Connect({.client_id = "mallory"});
    while (mallory.open() && !over) {
      std::string burst;
      for (uint16_t i = 1; i <= 100; ++i) {
        burst += PublishBytes({.topic = "weft/digits/mallory/push", .payload = payload}, 5, i);
      }
      mallory.Send(burst);
      for (int i = 0; i < 100 && mallory.Next(); ++i) {
      }
    }
    if (!mallory.open()) ++sent_away;
  }
  return sent_away;
}

}  // namespace

TEST_GROUP(ClusterFlood){};

// F37: while a device floods the broker, the job goes on and ends with the same bits. The server
// need only read as much of the flood as tells it who floods, however slow it is.
TEST(ClusterFlood, FromNothingToADeviceThatTrainsAlsoBesideOneThatFloods) {
  const std::string alone = Trained(RunningCluster(50));
  CHECK_EQUAL(64, alone.size());
  RunningCluster cluster(50);
  std::atomic<bool> over = false;
  int sent_away = 0;
  std::thread flood([&] { sent_away = Flood(cluster, over); });
  const std::string beside = Trained(cluster);
  over = true;
  flood.join();
  STRCMP_EQUAL(alone.c_str(), beside.c_str());
  CHECK_TRUE(sent_away > 0);
}

}  // namespace weft::apps
