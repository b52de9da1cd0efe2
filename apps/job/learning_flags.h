// SPDX-License-Identifier: Apache-2.0
// The flags that say how a model learns, alike for a device that trains alone and for the server of
// a job: optimizer, schedule, seed.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "core/train/optimizer.h"

namespace CLI {
class App;
}

namespace weft::apps {

struct LearningFlags {
  std::string optimizer = "sgd";
  double learning_rate = 0.05;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 5e-4;
  double label_smoothing = 0;
  std::string schedule = "cosine";
  uint64_t seed = 1;
};

void AddLearningFlags(CLI::App& command, LearningFlags& flags);

// InvalidInput: the numbers do not go together.
Result<train::Optimizer> MakeOptimizer(const LearningFlags& flags);

}  // namespace weft::apps
