// SPDX-License-Identifier: Apache-2.0
// The whole way from an empty folder to a device that trains over mutual TLS, with one server and
// with two.
#include "tests/cluster/running_cluster.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(ClusterJob){};

TEST(ClusterJob, TwoServersThatShareTheModelTrainToTheBitsOfOne) {
  const std::string one = Trained(RunningCluster(5));
  CHECK_EQUAL(64, one.size());
  const RunningCluster cluster(5, 2);
  // Before they serve, each is well by its own examination.
  for (const char* stem : {"ps0", "ps1"}) {
    ChildProcess doctor(
        PsCommand({"doctor", "--config", cluster.folder + "/server/" + stem + ".toml"}));
    CHECK_EQUAL(0, doctor.Wait());
  }
  STRCMP_EQUAL(one.c_str(), Trained(cluster).c_str());
}

// The broker goes by the servers' one certificate, so each of them takes the other's place.
TEST(ClusterJob, ASecondServerIsRefusedAndTheJobGoesOn) {
  const RunningCluster cluster(300);
  ChildProcess server(cluster.Server());
  ChildProcess worker(cluster.Worker());
  CHECK_TRUE(server.NextLine().has_value());
  std::vector<std::string> again = cluster.Server();
  again.insert(again.end(), {"--state", cluster.scratch.Path("another")});
  ChildProcess second(again);
  CHECK_EQUAL(1, second.Wait());
  CHECK_EQUAL(0, worker.Wait());
  CHECK_EQUAL(0, server.Wait());
}

}  // namespace weft::apps
