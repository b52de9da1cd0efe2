// SPDX-License-Identifier: Apache-2.0
// What training a model on one device takes in memory, and what less memory would cost in work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/status.h"

namespace weft::apps {

struct TrainingMemory {
  int64_t parameters = 0;            // with running statistics
  int64_t optimizer = 0;             // SGD with momentum
  int64_t activations = 0;           // with their gradients, a unit's gradients, and scratch
  int64_t activations_unshared = 0;  // if nothing shared its place
  double work_again = 0;             // computed again in backward, as a share of forward

  int64_t total() const { return parameters + optimizer + activations; }
};

// Without a budget first, then for ever smaller ones as long as they can be met. Kernels are this
// machine's best guess; nothing is timed and nothing run.
Result<std::vector<TrainingMemory>> PlanTrainingMemory(const model::Graph& graph, int batch);

std::string MemoryTableText(const std::vector<TrainingMemory>& rows, int batch);

}  // namespace weft::apps
