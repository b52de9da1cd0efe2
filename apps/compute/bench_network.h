// SPDX-License-Identifier: Apache-2.0
// A network of the zoo with made-up images and labels, ready for training steps to be timed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/compute/compute_stack.h"
#include "core/hooks.h"
#include "core/model/graph.h"
#include "core/train/network.h"
#include "core/train/optimizer.h"
#include "core/train/parameters.h"
#include "core/train/update_hooks.h"

namespace weft::apps {

class BenchNetwork {
 public:
  struct Setting {
    std::string model = {};
    int batch = 32;
    std::string memory_budget = {};  // as `weft-edge train` takes it
    ComputeSetting compute = {};
  };
  static Result<std::unique_ptr<BenchNetwork>> Create(const Setting& setting, const Clock& clock);

  const model::Graph& graph() const { return graph_; }
  train::Parameters& parameters() { return parameters_; }
  train::Network& network() { return *network_; }
  Parallel& parallel() { return compute_->parallel(); }

  struct StepTimes {
    int64_t total_ns = 0;
    int64_t forward_ns = 0;
    int64_t backward_ns = 0;
    int64_t update_ns = 0;
  };
  // A whole step of a local trainer: forward, loss, backward, update.
  Result<StepTimes> LocalStep(int64_t number);
  // A step with these hooks around each unit, and no update.
  Result<StepTimes> HookedStep(int64_t number, StepHooks& hooks);

 private:
  BenchNetwork(model::Graph graph, std::unique_ptr<ComputeStack> compute, const Clock& clock);
  Result<StepTimes> Step(int64_t number, StepHooks& hooks);

  const Clock& clock_;
  const model::Graph graph_;
  const std::unique_ptr<ComputeStack> compute_;
  train::Parameters parameters_;
  const train::Optimizer optimizer_;
  std::unique_ptr<train::Network> network_;
  std::vector<float> state_;
  std::vector<float> images_;
  std::vector<int> labels_;
  NullHooks nothing_;
  std::unique_ptr<train::UpdateHooks> update_;
};

int64_t MedianOf(std::vector<int64_t> values);

}  // namespace weft::apps
