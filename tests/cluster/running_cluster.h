// SPDX-License-Identifier: Apache-2.0
// A cluster made by init, add and enrol, whose broker runs, with lenet5 to train and two devices,
// of which one is called mallory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/typed.h"
#include "tests/edge/child_process.h"
#include "tests/edge/typed_edge.h"
#include "tests/files/scratch_folder.h"
#include "tests/mqtt/broker.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

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
std::string Trained(const RunningCluster& cluster);

}  // namespace weft::apps
