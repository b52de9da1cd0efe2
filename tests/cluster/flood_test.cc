// SPDX-License-Identifier: Apache-2.0
// A device that sends all it can. A server under sanitizers, which reads more slowly than a broker
// takes in, is not what is meant: what it cannot read in time the broker drops, everybody's.
#include <atomic>
#include <thread>

#include "tests/cluster/raw_client.h"
#include "tests/cluster/running_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// As another device, sends all it can for as long as the job lasts, and is revoked then. Whether it
// was shut out, and went on for so long.
bool Flood(RunningCluster& cluster, const std::atomic<bool>& over) {
  const std::string place = cluster.scratch.Path("mallory");
  const RawTls tls{
      .ca = place + "/ca.crt", .certificate = place + "/device.crt", .key = place + "/device.key"};
  RawClient mallory(cluster.broker.port(), &tls);
  mallory.Connect({.client_id = "mallory"});
  const std::string payload(16 << 10, 'x');
  bool revoked = false;
  for (int since = 0; mallory.open() && since < 1000; since += revoked) {
    for (int i = 0; i < 100; ++i) {
      mallory.Publish({.topic = "weft/digits/mallory/push", .payload = payload, .qos = 0});
    }
    const int reason = mallory.Publish({.topic = "weft/digits/mallory/ctl", .payload = payload});
    if (reason == kNotAuthorised) return revoked;
    if (!over || revoked) continue;
    Type({"cluster", "revoke", "mallory", "--dir", cluster.folder});
    cluster.broker.Reload();
    revoked = true;
  }
  return false;
}

}  // namespace

TEST_GROUP(ClusterFlood){};

// F37: while a device floods the broker, the job goes on and ends with the same bits; then it is
// shut out without being disconnected.
TEST(ClusterFlood, FromNothingToADeviceThatTrainsAlsoBesideOneThatFloods) {
  const std::string alone = Trained(RunningCluster(50));
  CHECK_EQUAL(64, alone.size());
  RunningCluster cluster(50);
  std::atomic<bool> over = false;
  bool shut_out = false;
  std::thread flood([&] { shut_out = Flood(cluster, over); });
  const std::string beside = Trained(cluster);
  over = true;
  flood.join();
  STRCMP_EQUAL(alone.c_str(), beside.c_str());
  CHECK_TRUE(shut_out);
}

}  // namespace weft::apps
