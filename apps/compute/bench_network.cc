// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/bench_network.h"

#include <algorithm>

#include "apps/compute/memory_budget.h"
#include "core/model/zoo.h"
#include "core/rng.h"
#include "core/train/initialise.h"
#include "core/train/loss.h"

namespace weft::apps {

BenchNetwork::BenchNetwork(model::Graph graph, std::unique_ptr<ComputeStack> compute,
                           const Clock& clock)
    : clock_(clock),
      graph_(std::move(graph)),
      compute_(std::move(compute)),
      parameters_(graph_),
      optimizer_(
          train::Optimizer::Create(train::Sgd{.momentum = 0.9, .weight_decay = 5e-4}).value()) {}

Result<std::unique_ptr<BenchNetwork>> BenchNetwork::Create(const Setting& setting,
                                                           const Clock& clock) {
  Result<model::Graph> graph = model::BuildModel(setting.model);
  if (!graph.ok()) return graph.status();
  Result<std::unique_ptr<ComputeStack>> compute = ComputeStack::Create(setting.compute, clock);
  if (!compute.ok()) return compute.status();
  std::unique_ptr<BenchNetwork> bench(
      new BenchNetwork(std::move(graph).value(), std::move(compute).value(), clock));
  BenchNetwork& b = *bench;
  train::Initialise(b.parameters_, 1, b.parallel());
  const auto image_bytes =
      sizeof(float) * static_cast<size_t>(setting.batch * b.graph_.input_shape().elements());
  Result<size_t> budget =
      BytesLeft(setting.memory_budget, b.parameters_.values().size_bytes() + image_bytes);
  if (!budget.ok()) return budget.status();
  Result<std::unique_ptr<train::Network>> network =
      train::Network::Create(b.parameters_, b.compute_->registry(), b.parallel(),
                             {.batch = setting.batch,
                              .training = true,
                              .keep_gradients = false,
                              .memory_budget = *budget});
  if (!network.ok()) return network.status();
  b.network_ = std::move(network).value();
  b.compute_->KeepTimes();
  b.state_.assign(b.parameters_.values().size(), 0.0f);

  Rng rng(1);
  b.images_.resize(b.network_->images().size());
  for (float& pixel : b.images_) pixel = static_cast<float>(2 * rng.Fraction() - 1);
  const int classes = static_cast<int>(b.graph_.output_shape()[0]);
  b.labels_.resize(static_cast<size_t>(setting.batch));
  for (int& label : b.labels_) label = static_cast<int>(rng.Between(0, classes - 1));
  b.update_ =
      std::make_unique<train::UpdateHooks>(train::UpdateHooks::Parts{.parameters = b.parameters_,
                                                                     .network = *b.network_,
                                                                     .optimizer = b.optimizer_,
                                                                     .optimizer_state = b.state_,
                                                                     .parallel = b.parallel(),
                                                                     .clock = clock,
                                                                     .next = b.nothing_});
  return bench;
}

Result<BenchNetwork::StepTimes> BenchNetwork::Step(int64_t number, StepHooks& hooks) {
  StepTimes times;
  const int64_t begin = clock_.NowNs();
  std::copy(images_.begin(), images_.end(), network_->images().begin());
  hooks.BeginStep(number);
  network_->Forward(hooks, static_cast<uint64_t>(number));
  hooks.EndForward();
  const int classes = static_cast<int>(graph_.output_shape()[0]);
  Result<double> loss =
      train::SoftmaxCrossEntropy(network_->logits(), classes, labels_, 0, network_->d_logits());
  if (!loss.ok()) return loss.status();
  const int64_t backward_begin = clock_.NowNs();
  network_->Backward(hooks);
  hooks.EndStep();
  const int64_t end = clock_.NowNs();
  times.total_ns = end - begin;
  times.forward_ns = backward_begin - begin;
  times.backward_ns = end - backward_begin;
  return times;
}

Result<BenchNetwork::StepTimes> BenchNetwork::LocalStep(int64_t number) {
  // A rate so small that random labels do not blow the network up.
  update_->StartUpdate({.number = number + 1, .learning_rate = 1e-4});
  Result<StepTimes> times = Step(number, *update_);
  if (!times.ok()) return times;
  network_->ParametersChanged();
  times->update_ns = update_->spent_ns();
  times->backward_ns -= times->update_ns;
  return times;
}

Result<BenchNetwork::StepTimes> BenchNetwork::HookedStep(int64_t number, StepHooks& hooks) {
  return Step(number, hooks);
}

int64_t MedianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace weft::apps
