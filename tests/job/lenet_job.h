// SPDX-License-Identifier: Apache-2.0
// A small job for tests: lenet5 on synthetic digits, computed by the reference kernels, which have
// the same bits everywhere, and what must come out of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/compute/compute_stack.h"
#include "core/clock.h"
#include "core/hooks.h"
#include "core/train/batch_loader.h"
#include "core/train/compute_step.h"
#include "core/train/network.h"
#include "core/train/optimizer.h"
#include "core/train/parameters.h"
#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"

namespace weft::apps {

struct LenetJob {
  static constexpr uint64_t kSeed = 1;
  static constexpr double kLearningRate = 0.05;  // by cosine

  int workers = 4;
  int rounds = 20;
  int batch = 4;
  std::string optimizer = "sgd";

  std::vector<std::string> PsArguments(int port, const std::string& state,
                                       const std::vector<std::string>& more = {}) const;
  std::vector<std::string> EdgeArguments(int port, int worker,
                                         const std::vector<std::string>& more = {}) const;

  model::Graph Graph() const;
  train::Optimizer Optimizer() const;

  // The hash of the model that one process gets which computes the workers' batches one after the
  // other and adds the gradients in the workers' order.
  std::string ExpectedHash() const;
};

// Computes the job's batches: a network of its own, with the job's first parameters.
class LenetCompute {
 public:
  explicit LenetCompute(const LenetJob& job);

  train::Parameters& parameters() { return parameters_; }
  train::Network& network() { return *network_; }
  // With the next batch of `worker`, which must be that of `round`.
  Result<train::StepReport> Step(int worker, int64_t round, StepHooks& hooks);

 private:
  const LenetJob job_;
  const SteadyClock clock_;
  const model::Graph graph_;
  train::Parameters parameters_;
  std::unique_ptr<ComputeStack> compute_;
  std::unique_ptr<train::Network> network_;
  std::unique_ptr<train::Dataset> data_;
  std::vector<std::unique_ptr<train::BatchLoader>> loaders_;  // [workers], once they are needed
};

}  // namespace weft::apps
