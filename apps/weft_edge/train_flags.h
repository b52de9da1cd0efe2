// SPDX-License-Identifier: Apache-2.0
// The flags of a training, for the command that does it and the one that examines it before.
#pragma once

#include <cstdint>
#include <string>

#include "apps/job/broker_flags.h"
#include "apps/job/learning_flags.h"

namespace CLI {
class App;
}

namespace weft::apps {

// How many rounds --trace shows, the last ones.
inline constexpr size_t kTracedRounds = 50;

// What `weft-edge train` was told. Empty strings and zeros mean "not given".
struct TrainFlags {
  bool local = false;
  std::string model;
  std::string data;
  std::string board = "auto";
  int batch = 0;  // alone the board's for the model; in a job, what the server says
  int64_t epochs = 0;
  int64_t steps = 0;
  LearningFlags learning;
  int threads = 0;
  std::string backend = "auto";
  bool exact = false;
  std::string init;
  bool new_head = false;
  std::string save;
  std::string checkpoint;
  int64_t checkpoint_every = 200;  // steps
  bool resume = false;
  bool no_shuffle = false;
  bool no_augment = false;
  bool eval = false;
  std::string memory_budget;
  bool explain = false;
  bool json = false;

  // What the board's profile gave where nothing was typed.
  std::string board_gave;  // in words; empty: nothing
  int board_batch = 32;    // alone, if it fits
  bool budget_is_boards = false;

  // Of a job.
  BrokerFlags broker;
  std::string job;
  std::string worker;
  std::string share = "0/1";
  int shards = 1;
  std::string compute = "real";  // or replay:FILE
  std::string trace;
  std::string profile_out;
};

// All but --json, which each command explains for itself.
void AddTrainFlags(CLI::App& command, TrainFlags& flags);

}  // namespace weft::apps
