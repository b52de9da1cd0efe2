// SPDX-License-Identifier: Apache-2.0
// Whole jobs by the programs themselves over a real broker: the model they end with is, bit for
// bit, that of one process that does the same work in turn, whatever is killed on the way.
// CMakeLists.txt says how often a build kills: WEFT_JOB_KILLS.
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/rng.h"
#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"
#include "tests/job/lenet_job.h"
#include "tests/mqtt/broker.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

// Reads a server's or worker's lines to the end; the last one's hash.
std::string FinalHash(ChildProcess& process) {
  std::string hash;
  while (const std::optional<std::string> line = process.NextLine()) {
    const json object = json::parse(*line);
    if (object.contains("final")) hash = object["model_hash"];
  }
  return hash;
}

int Kills() {
  const char* text = std::getenv("WEFT_JOB_KILLS");
  return text == nullptr ? WEFT_JOB_KILLS : std::atoi(text);
}

}  // namespace

TEST_GROUP(Job) {
  ScratchFolder folder;
  net::Broker broker;
  LenetJob job;
  std::vector<std::unique_ptr<ChildProcess>> servers;
  std::vector<std::unique_ptr<ChildProcess>> workers;

  void StartServer(const std::vector<std::string>& more = {}) {
    servers.push_back(std::make_unique<ChildProcess>(
        PsCommand(job.PsArguments(broker.port(), folder.Path("state"), more))));
  }
  void StartWorkers(const std::vector<std::string>& more = {}) {
    for (int w = 0; w < job.workers; ++w) {
      workers.push_back(
          std::make_unique<ChildProcess>(EdgeCommand(job.EdgeArguments(broker.port(), w, more))));
    }
  }
};

TEST(Job, FourWorkersGetTheModelOfOneProcessThatDoesTheirWorkInTurn) {
  StartServer();
  StartWorkers({"--json"});
  const std::string expected = job.ExpectedHash();
  STRCMP_EQUAL(expected.c_str(), FinalHash(*servers[0]).c_str());
  LONGS_EQUAL(0, servers[0]->Wait());
  for (const auto& worker : workers) {
    STRCMP_EQUAL(expected.c_str(), FinalHash(*worker).c_str());
    LONGS_EQUAL(0, worker->Wait());
  }
}

TEST(Job, SlicesAndSmallSegmentsChangeNoBit) {
  job.optimizer = "adamw";
  StartServer({"--slice", "20kB", "--segment", "8KiB", "--window", "16KiB"});
  StartWorkers();
  STRCMP_EQUAL(job.ExpectedHash().c_str(), FinalHash(*servers[0]).c_str());
}

TEST(Job, ThreeServersGetTheModelOfOne) {
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    servers.push_back(std::make_unique<ChildProcess>(PsCommand(job.PsArguments(
        broker.port(), folder.Path(std::string("state") + shard[0]), {"--shard", shard}))));
  }
  StartWorkers({"--json", "--shards", "3"});
  const std::string expected = job.ExpectedHash();
  for (const auto& worker : workers) {
    STRCMP_EQUAL(expected.c_str(), FinalHash(*worker).c_str());
    LONGS_EQUAL(0, worker->Wait());
  }
}

// Strategies decide when what travels, and never what is summed.
TEST(Job, EveryStrategyGetsTheSameModelHoweverManyWorkersAndServers) {
  job.rounds = 8;  // enough for the first plans of their own
  // Under an emulator each job takes as long as ten of them.
  const std::vector<int> counts = WEFT_EMULATED ? std::vector{2} : std::vector{1, 2, 4};
  const std::vector<int> servings = WEFT_EMULATED ? std::vector{2} : std::vector{1, 4};
  for (const int count : counts) {
    job.workers = count;
    const std::string expected = job.ExpectedHash();
    for (const int shards : servings) {
      for (const char* strategy : {"sequential", "lbl", "ibatch", "dynacomm", "weave"}) {
        const std::string name =
            std::string(strategy) + std::to_string(count) + "-" + std::to_string(shards);
        for (int shard = 0; shard < shards; ++shard) {
          servers.push_back(std::make_unique<ChildProcess>(
              PsCommand(job.PsArguments(broker.port(), folder.Path(name + std::to_string(shard)),
                                        {"--strategy", strategy, "--replan-every", "2", "--shard",
                                         std::to_string(shard) + "/" + std::to_string(shards)}))));
        }
        StartWorkers({"--json", "--shards", std::to_string(shards)});
        for (const auto& worker : workers) {
          const std::string hash = FinalHash(*worker);
          if (hash != expected) FAIL((name + " ended with model " + hash).c_str());
        }
        workers.clear();
        servers.clear();
      }
    }
  }
}

// An epoch is 16 rounds: 256 images, four workers, batches of four.
TEST(Job, TheModelIsMeasuredAfterEveryEpochAndIsTheSameByEveryStrategy) {
  const std::vector<int> ends = WEFT_EMULATED ? std::vector{1} : std::vector{1, 2};
  job.rounds = WEFT_EMULATED ? 20 : 40;
  std::string curves[2];
  for (const bool weave : {false, true}) {
    servers.push_back(std::make_unique<ChildProcess>(
        PsCommand(job.PsArguments(broker.port(), folder.Path(weave ? "weave" : "sequential"),
                                  {"--strategy", weave ? "weave" : "sequential"}))));
    StartWorkers({"--json", "--eval"});
    std::vector<int> epochs;
    while (const std::optional<std::string> line = workers[0]->NextLine()) {
      const json object = json::parse(*line);
      if (!object.contains("top1")) continue;
      if (object.contains("epoch")) epochs.push_back(object["epoch"]);
      curves[weave] +=
          object["top1"].dump() + " " + object.value("eval_loss", json()).dump() + "\n";
    }
    CHECK_TRUE(epochs == ends);  // and once more after the last round
    for (const auto& worker : workers) LONGS_EQUAL(0, worker->Wait());
    workers.clear();
  }
  STRCMP_EQUAL(curves[0].c_str(), curves[1].c_str());
}

TEST(Job, KilledAtRandomItEndsWithTheSameModel) {
  const int kills = Kills();
  job.rounds = 4 * kills + 20;
  const std::vector<std::string> slices = {"--slice", "40kB", "--checkpoint-every", "7"};
  StartServer(slices);
  StartWorkers();
  Rng rng(11);
  for (int kill = 0; kill < kills; ++kill) {
    // Some rounds in peace, so that it strikes anywhere.
    for (int64_t lines = rng.Between(1, 2); lines > 0; --lines) {
      CHECK_TRUE(servers[0]->NextLine().has_value());
    }
    switch (rng.Between(0, 2)) {
      case 0: {
        const auto w = static_cast<size_t>(rng.Between(0, job.workers - 1));
        CHECK_TRUE(workers[w]->Kill());
        workers[w] = std::make_unique<ChildProcess>(
            EdgeCommand(job.EdgeArguments(broker.port(), static_cast<int>(w))));
        break;
      }
      case 1:
        CHECK_TRUE(servers[0]->Kill());
        servers.clear();
        StartServer(slices);
        break;
      default:
        broker.Kill9();
        broker.Restart();
    }
  }
  STRCMP_EQUAL(job.ExpectedHash().c_str(), FinalHash(*servers[0]).c_str());
  LONGS_EQUAL(0, servers[0]->Wait());
}

TEST(Job, ASecondServerOnTheSameStateIsRefused) {
  StartServer();
  StartWorkers();
  CHECK_TRUE(servers[0]->NextLine().has_value());  // it is there
  ChildProcess second(PsCommand(job.PsArguments(broker.port(), folder.Path("state"))));
  LONGS_EQUAL(1, second.Wait());
  LONGS_EQUAL(64, FinalHash(*servers[0]).size());
}

TEST(Job, ASecondServerWithAStateOfItsOwnIsRefusedAndNobodyElseNotices) {
  job.rounds = 40;
  StartServer();
  StartWorkers();
  CHECK_TRUE(servers[0]->NextLine().has_value());
  ChildProcess second(PsCommand(job.PsArguments(broker.port(), folder.Path("another"))));
  LONGS_EQUAL(1, second.Wait());
  STRCMP_EQUAL(job.ExpectedHash().c_str(), FinalHash(*servers[0]).c_str());
  LONGS_EQUAL(0, servers[0]->Wait());
}

}  // namespace weft::apps
