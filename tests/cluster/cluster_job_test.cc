// SPDX-License-Identifier: Apache-2.0
// The whole way from an empty folder to a device that trains over mutual TLS; and what others who
// are let in can do to it.
#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tests/apps/typed.h"
#include "tests/cluster/raw_client.h"
#include "tests/edge/child_process.h"
#include "tests/edge/typed_edge.h"
#include "tests/files/scratch_folder.h"
#include "tests/mqtt/broker.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// init, add, enrol: a cluster whose broker runs, with lenet5 to train and two devices.
struct RunningCluster {
  explicit RunningCluster(int rounds_in, int shards_in = 1) : rounds(rounds_in), shards(shards_in) {
    for (const char* name : {"pi1", "mallory"}) {
      CHECK_EQUAL(
          0, Type({"cluster", "add", name, "--dir", folder, "--data", "synthetic:1x28x28:10:64"})
                 .exit_code);
      const EdgeAnswer enrolled =
          EdgeFolder::Type({"enrol", folder + "/devices/" + name + "/" + name + ".tar", "--into",
                            scratch.Path(name)});
      STRCMP_EQUAL("", enrolled.err.c_str());
      STRCMP_CONTAINS("systemctl enable --now weft-edge", enrolled.out.c_str());
    }
  }

  std::vector<std::string> Server(const std::string& stem = "ps") const {
    return PsCommand({"serve", "--config", folder + "/server/" + stem + ".toml", "--json"});
  }
  std::vector<std::string> Worker() const {
    return EdgeCommand({"train", "--config", scratch.Path("pi1") + "/edge.toml", "--backend", "ref",
                        "--threads", "1", "--json"});
  }

  const ScratchFolder scratch;
  const std::string folder = scratch.Path("c");
  const EdgeFolder edge;
  int rounds;
  int shards;
  net::Broker broker{[this](int port) { return Init(port); }};

 private:
  std::string Init(int port) const {
    std::filesystem::remove_all(folder);
    const Typed init = Type({"cluster",
                             "init",
                             folder,
                             "--host",
                             "127.0.0.1",
                             "--port",
                             std::to_string(port),
                             "--job",
                             "digits",
                             "--model",
                             "lenet5",
                             "--input",
                             "1x28x28",
                             "--classes",
                             "10",
                             "--rounds",
                             std::to_string(rounds),
                             "--batch",
                             "4",
                             "--shards",
                             std::to_string(shards),
                             "--state",
                             scratch.Path("state")});
    STRCMP_EQUAL("", init.err.c_str());
    return ReadAll(folder + "/broker/mosquitto.conf");
  }
};

// Runs the job to its end; the hash of the model that comes out.
std::string Trained(const RunningCluster& cluster) {
  std::vector<std::unique_ptr<ChildProcess>> servers;
  for (int shard = 0; shard < cluster.shards; ++shard) {
    const std::string stem = cluster.shards == 1 ? "ps" : "ps" + std::to_string(shard);
    servers.push_back(std::make_unique<ChildProcess>(cluster.Server(stem)));
  }
  ChildProcess worker(cluster.Worker());
  std::string last;
  while (const std::optional<std::string> line = worker.NextLine()) last = *line;
  if (worker.Wait() != 0) return "";
  // Of several each stays for a while, in case a worker must come back for what another lacks.
  if (cluster.shards == 1 && servers[0]->Wait() != 0) return "";
  CHECK_EQUAL(cluster.shards == 1,
              std::filesystem::exists(cluster.scratch.Path("state/digits.safetensors")));
  return nlohmann::json::parse(last).value("model_hash", "");
}

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

TEST_GROUP(ClusterJob){};

// F37: while a device floods the broker, the job goes on and ends with the same bits; then it is
// shut out without being disconnected.
TEST(ClusterJob, FromNothingToADeviceThatTrainsAlsoBesideOneThatFloods) {
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
