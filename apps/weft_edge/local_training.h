// SPDX-License-Identifier: Apache-2.0
// One device training alone: everything from the data set to the saved model, put together.
#pragma once

#include <atomic>
#include <string>

#include "apps/terminal/console.h"
#include "core/status.h"

namespace weft::apps {

// What `weft-edge train` was told. Empty strings and zeros mean "not given".
struct TrainFlags {
  bool local = false;
  std::string model;
  std::string data;
  int batch = 32;
  int64_t epochs = 0;
  int64_t steps = 0;
  std::string optimizer = "sgd";
  double learning_rate = 0.05;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 5e-4;
  double label_smoothing = 0;
  std::string schedule = "cosine";
  uint64_t seed = 1;
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
};

Status TrainLocally(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop);

}  // namespace weft::apps
