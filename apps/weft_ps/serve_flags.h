// SPDX-License-Identifier: Apache-2.0
// The flags of a server, for the command that serves and the one that examines it before.
#pragma once

#include <cstdint>
#include <string>

#include "apps/job/broker_flags.h"
#include "apps/job/learning_flags.h"

namespace CLI {
class App;
}

namespace weft::apps {

// What `weft-ps serve` was told. Empty strings and zeros mean "not given".
struct ServeFlags {
  BrokerFlags broker;
  std::string job;
  std::string shard = "0/1";
  std::string state;  // folder
  std::string model;
  std::string input;  // CxHxW
  int classes = 0;
  int64_t rounds = 0;
  int workers = 1;
  int quorum = 0;  // 0: as many as workers
  int max_workers = 1000;
  double round_deadline_s = 0;
  double worker_timeout_s = 10;
  double heartbeat_s = 1;
  int batch = 32;
  LearningFlags learning;
  std::string init;
  bool new_head = false;
  std::string save;
  std::string segment = "128KiB";
  std::string window = "4MiB";
  std::string slice;  // empty: a part in kSlices of the model, but no less than 64 KiB
  std::string strategy = "weave";
  int64_t replan_every = 50;  // rounds
  double max_norm = 0;
  int64_t checkpoint_every = 100;
  int threads = 0;
  int metrics_port = 0;  // 0: none
  bool json = false;
};

inline constexpr int64_t kSlices = 1024;

// Without these there is nothing to serve.
inline constexpr const char* kNeededServeFlags[] = {"--job", "--state", "--model", "--rounds"};

// All but --json, which each command explains for itself. None is required here.
void AddServeFlags(CLI::App& command, ServeFlags& flags);

}  // namespace weft::apps
