// SPDX-License-Identifier: Apache-2.0
// Whole networks on onednn: what is computed again instead of being kept has the same bits.
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/model/zoo.h"
#include "core/rng.h"
#include "core/train/initialise.h"
#include "core/train/loss.h"
#include "core/train/network.h"
#include "core/train/optimizer.h"
#include "core/train/update_hooks.h"
#include "kernels/onednn/backend.h"
#include "kernels/onednn/omp_parallel.h"
#include "kernels/ref/backend.h"
#include "kernels/registry.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

constexpr int kThreads = 1;
constexpr int kBatch = 2;

// A model on small images, trained for three steps from the same start each time.
class Training {
 public:
  explicit Training(const char* model)
      : graph_(model::BuildModel(model, {.classes = 10, .input = {3, 64, 64}}).value()) {}

  struct Outcome {
    std::vector<float> parameters;
    size_t activations = 0;
  };
  // None if the budget cannot be met.
  std::optional<Outcome> Run(const Network::Options& options) {
    Parameters parameters(graph_);
    Initialise(parameters, 1, parallel_);
    auto created = Network::Create(parameters, registry_, parallel_, options);
    if (!created.ok()) return std::nullopt;
    const auto network = std::move(created).value();
    const Optimizer optimizer =
        Optimizer::Create(Sgd{.momentum = 0.9, .weight_decay = 1e-3}).value();
    std::vector<float> state(parameters.values().size());
    NullHooks nothing;
    UpdateHooks hooks({parameters, *network, optimizer, state, parallel_, clock_, nothing});
    Rng rng(5);
    std::vector<int> labels(kBatch);
    for (int step = 0; step < 3; ++step) {
      for (float& pixel : network->images()) pixel = static_cast<float>(rng.Fraction() - 0.5);
      for (int& label : labels) label = static_cast<int>(rng.Between(0, 9));
      network->Forward(hooks, static_cast<uint64_t>(step));
      const double loss =
          SoftmaxCrossEntropy(network->logits(), 10, labels, 0, network->d_logits()).value();
      CHECK_TRUE(std::isfinite(loss));
      hooks.StartUpdate({.number = step + 1, .learning_rate = 0.05});
      network->Backward(hooks);
      network->ParametersChanged();
    }
    const auto all = [](std::span<const float> a, std::span<const float> b) {
      std::vector<float> joined(a.begin(), a.end());
      joined.insert(joined.end(), b.begin(), b.end());
      return joined;
    };
    return Outcome{all(parameters.values(), parameters.statistics()),
                   network->memory().activations};
  }

 private:
  SteadyClock clock_;
  onednn::OmpParallel parallel_{kThreads};
  onednn::OnednnBackend onednn_{kThreads};
  ref::RefBackend ref_{parallel_};
  // Equal bits need equal kernels, and a budget that can be met this time and the next, equal
  // needs: nothing is measured.
  Registry registry_{{&onednn_, &ref_}, clock_, {.threads = kThreads, .measure = false}};
  model::Graph graph_;
};

}  // namespace

TEST_GROUP(OnednnNetwork){};

TEST(OnednnNetwork, ComputingAgainGivesTheSameBitsWhateverTheBudget) {
  for (const char* model : {"resnet18", "mobilenet_v2", "googlenet"}) {
    Training training(model);
    const auto most = training.Run({.batch = kBatch, .keep_gradients = false}).value();
    int budgets_met = 0;
    for (size_t percent : {90, 60}) {
      const size_t budget = most.activations / 100 * percent;
      const auto frugal =
          training.Run({.batch = kBatch, .keep_gradients = false, .memory_budget = budget});
      if (!frugal) break;  // how little will do depends on the processor's kernels
      ++budgets_met;
      CHECK_TRUE_TEXT(frugal->activations <= budget, model);
      CHECK_TRUE_TEXT(frugal->parameters == most.parameters, model);
    }
    CHECK_TRUE_TEXT(budgets_met > 0, model);
  }
}

TEST(OnednnNetwork, GradientsThatAreKeptAreTheSame) {
  Training training("resnet18");
  const auto kept = training.Run({.batch = kBatch, .keep_gradients = true}).value();
  const auto not_kept = training.Run({.batch = kBatch, .keep_gradients = false}).value();
  CHECK_TRUE(kept.parameters == not_kept.parameters);
}

}  // namespace weft::train
