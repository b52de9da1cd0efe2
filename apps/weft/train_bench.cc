// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/train_bench.h"

#include <algorithm>
#include <cmath>

#include "apps/compute/memory_budget.h"
#include "apps/compute/process_memory.h"
#include "bench/peak_flops.h"
#include "core/model/zoo.h"
#include "core/rng.h"
#include "core/train/initialise.h"
#include "core/train/loss.h"
#include "core/train/optimizer.h"
#include "core/train/update_hooks.h"

namespace weft::apps {
namespace {

int64_t Median(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Result<TrainBenchResult> BenchTraining(const TrainBenchSetting& setting, const Clock& clock) {
  Result<model::Graph> graph = model::BuildModel(setting.model);
  if (!graph.ok()) return graph.status();
  Result<std::unique_ptr<ComputeStack>> compute = ComputeStack::Create(setting.compute, clock);
  if (!compute.ok()) return compute.status();
  Parallel& parallel = (*compute)->parallel();
  train::Parameters parameters(*graph);
  train::Initialise(parameters, 1, parallel);
  const auto image_bytes =
      sizeof(float) * static_cast<size_t>(setting.batch * graph->input_shape().elements());
  Result<size_t> budget =
      BytesLeft(setting.memory_budget, parameters.values().size_bytes() + image_bytes);
  if (!budget.ok()) return budget.status();
  Result<std::unique_ptr<train::Network>> created =
      train::Network::Create(parameters, (*compute)->registry(), parallel,
                             {.batch = setting.batch,
                              .training = true,
                              .keep_gradients = false,
                              .memory_budget = *budget});
  if (!created.ok()) return created.status();
  (*compute)->KeepTimes();
  train::Network& network = **created;
  const train::Optimizer optimizer =
      train::Optimizer::Create(train::Sgd{.momentum = 0.9, .weight_decay = 5e-4}).value();
  std::vector<float> state(parameters.values().size(), 0.0f);

  Rng rng(1);
  for (float& pixel : network.images()) pixel = static_cast<float>(2 * rng.Fraction() - 1);
  const int classes = static_cast<int>(graph->output_shape()[0]);
  std::vector<int> labels(static_cast<size_t>(setting.batch));
  for (int& label : labels) label = static_cast<int>(rng.Between(0, classes - 1));
  const std::vector<float> images(network.images().begin(), network.images().end());

  NullHooks nothing;
  train::UpdateHooks hooks({.parameters = parameters,
                            .network = network,
                            .optimizer = optimizer,
                            .optimizer_state = state,
                            .parallel = parallel,
                            .clock = clock,
                            .next = nothing});
  std::vector<int64_t> step_ns;
  std::vector<int64_t> forward_ns;
  std::vector<int64_t> backward_ns;
  std::vector<int64_t> update_ns;
  for (int step = 0; step <= setting.steps; ++step) {
    const int64_t begin = clock.NowNs();
    std::copy(images.begin(), images.end(), network.images().begin());
    network.Forward(hooks, static_cast<uint64_t>(step));
    Result<double> loss =
        train::SoftmaxCrossEntropy(network.logits(), classes, labels, 0, network.d_logits());
    if (!loss.ok()) return loss.status();
    const int64_t backward_begin = clock.NowNs();
    // A rate so small that random labels do not blow the network up.
    hooks.StartUpdate({.number = step + 1, .learning_rate = 1e-4});
    network.Backward(hooks);
    network.ParametersChanged();
    const int64_t end = clock.NowNs();
    if (step == 0) continue;  // warm-up
    step_ns.push_back(end - begin);
    forward_ns.push_back(backward_begin - begin);
    backward_ns.push_back(end - backward_begin - hooks.spent_ns());
    update_ns.push_back(hooks.spent_ns());
  }
  TrainBenchResult result;
  result.peak_rss_bytes = PeakResidentBytes();
  result.threads = parallel.threads();
  result.step_ns = Median(step_ns);
  result.forward_ns = Median(forward_ns);
  result.backward_ns = Median(backward_ns);
  result.update_ns = Median(update_ns);
  const double images_e9 = 1e9 * setting.batch;
  result.images_per_s = images_e9 / static_cast<double>(result.step_ns);
  result.images_per_s_best =
      images_e9 / static_cast<double>(*std::min_element(step_ns.begin(), step_ns.end()));
  result.gflops = 6.0 * static_cast<double>(graph->macs()) * setting.batch /
                  static_cast<double>(result.step_ns);
  result.peak_share = result.gflops / bench::PeakGflops(parallel, clock);
  return result;
}

}  // namespace weft::apps
