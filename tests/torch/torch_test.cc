// SPDX-License-Identifier: Apache-2.0
// Whole networks against PyTorch, on the backends this build has: ten steps of training, and every
// model of the zoo in evaluation. What PyTorch answers, in float64, is in golden/, written by
// tools/torch_goldens.py. A build with plain kernels only, or under emulation, leaves out what
// would take it minutes (kMostMacs); CMakeLists.txt says which builds are quick.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "apps/compute/compute_stack.h"
#include "core/model/zoo.h"
#include "core/train/batch_loader.h"
#include "core/train/loss.h"
#include "core/train/trainer.h"
#include "tests/places.h"
#include "tests/torch/made_up.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

#ifdef WEFT_QUICK_KERNELS
constexpr int64_t kMostMacs = INT64_MAX;
#else
constexpr int64_t kMostMacs = 650'000'000;  // some ten seconds under qemu
#endif

// A line of a golden file: a model, then numbers.
struct Golden {
  std::string model;
  std::vector<double> numbers;
};

std::vector<Golden> ReadGolden(const std::string& name) {
  std::ifstream file(tests::TestsFolder() + "/torch/golden/" + name);
  std::vector<Golden> lines;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    Golden& line = lines.emplace_back();
    words >> line.model;
    for (double number; words >> number;) line.numbers.push_back(number);
  }
  return lines;
}

// A model with its made-up weights and images, on this build's backends.
class Bench {
 public:
  Bench(const std::string& model, int image_size, int batch, int64_t images)
      : graph_(Build(model, image_size)),
        parameters_(graph_),
        images_(graph_.input_shape(), static_cast<int>(graph_.output_shape()[0]), images),
        batch_(batch) {
    MakeUp(parameters_);
  }

  std::unique_ptr<Network> MakeNetwork(bool training) {
    return Network::Create(parameters_, compute_->registry(), compute_->parallel(),
                           {.batch = batch_, .training = training})
        .value();
  }

  std::unique_ptr<BatchLoader> OpenLoader() const {
    return BatchLoader::Create(images_,
                               {.sampling = {.batch = batch_, .shuffle = false}, .augment = false})
        .value();
  }

  const model::Graph& graph() const { return graph_; }
  Parameters& parameters() { return parameters_; }
  Parallel& parallel() { return compute_->parallel(); }
  const Clock& clock() const { return clock_; }

 private:
  // image_size 0: the model's own.
  static model::Graph Build(const std::string& model, int image_size) {
    const model::Graph own = model::BuildModel(model).value();
    if (image_size == 0) return own;
    const Shape input = {own.input_shape()[0], image_size, image_size};
    return WithoutDropout(model::BuildModel(model, {.input = input}).value());
  }

  SteadyClock clock_;
  std::unique_ptr<apps::ComputeStack> compute_ =
      apps::ComputeStack::Create({.threads = 1, .exact = true}, clock_).value();
  model::Graph graph_;
  Parameters parameters_;
  MadeUpImages images_;
  int batch_;
};

// One line of losses.txt.
struct TrainingCase {
  explicit TrainingCase(const Golden& golden)
      : model(golden.model),
        image_size(static_cast<int>(golden.numbers[0])),
        batch(static_cast<int>(golden.numbers[1])),
        learning_rate(golden.numbers[2]),
        momentum(golden.numbers[3]),
        weight_decay(golden.numbers[4]),
        losses(golden.numbers.begin() + 5, golden.numbers.end() - 1),
        evaluated(golden.numbers.back()) {}

  std::string Text(size_t step) const {
    return model + " at " + std::to_string(image_size) + ", step " + std::to_string(step + 1);
  }

  std::string model;
  int image_size;
  int batch;
  double learning_rate;
  double momentum;
  double weight_decay;
  std::vector<double> losses;  // of the steps
  double evaluated;            // the first batch's, after them
};

// PyTorch's own float32 is up to 3e-5 from its float64 after ten steps.
constexpr double kLossTolerance = 1e-3;

// Trains as far as kMostMacs allows, and returns how many steps that was.
size_t TrainAsPyTorch(const TrainingCase& expected) {
  constexpr int kBatches = 3;  // then they come again
  Bench bench(expected.model, expected.image_size, expected.batch, kBatches * expected.batch);
  const int64_t macs_per_step = 3 * bench.graph().macs() * expected.batch;
  const size_t steps = std::min<size_t>(expected.losses.size(), kMostMacs / macs_per_step);
  if (steps == 0) return 0;

  const std::unique_ptr<Network> network = bench.MakeNetwork(true);
  const Optimizer optimizer =
      Optimizer::Create(Sgd{.momentum = expected.momentum, .weight_decay = expected.weight_decay})
          .value();
  NullHooks hooks;
  Trainer trainer(
      {bench.parameters(), *network, optimizer, hooks, bench.parallel(), bench.clock()},
      {.learning_rate = expected.learning_rate, .total_steps = std::ssize(expected.losses)});
  const std::unique_ptr<BatchLoader> loader = bench.OpenLoader();
  for (size_t step = 0; step < steps; ++step) {
    const double loss = trainer.Step(*loader)->loss;
    DOUBLES_EQUAL_TEXT(expected.losses[step], loss, kLossTolerance * expected.losses[step],
                       expected.Text(step).c_str());
  }
  if (steps < expected.losses.size()) return steps;

  const std::unique_ptr<Network> evaluation = bench.MakeNetwork(false);
  const std::unique_ptr<BatchLoader> again = bench.OpenLoader();
  const Batch batch = again->Next().value();
  std::copy(batch.images.begin(), batch.images.end(), evaluation->images().begin());
  evaluation->Forward(hooks, 0);
  const int classes = static_cast<int>(bench.graph().output_shape()[0]);
  const double loss =
      SoftmaxCrossEntropy(evaluation->logits(), classes, batch.labels, 0, {}).value();
  DOUBLES_EQUAL_TEXT(expected.evaluated, loss, kLossTolerance * expected.evaluated,
                     (expected.model + " evaluated").c_str());
  return steps;
}

// The largest distance of a logit from PyTorch's, as a part of the largest logit.
double DistanceOfLogits(const Golden& golden) {
  constexpr int kImages = 2;
  Bench bench(golden.model, 0, kImages, kImages);
  const std::unique_ptr<Network> network = bench.MakeNetwork(false);
  const std::unique_ptr<BatchLoader> loader = bench.OpenLoader();
  const Batch batch = loader->Next().value();
  std::copy(batch.images.begin(), batch.images.end(), network->images().begin());
  NullHooks hooks;
  network->Forward(hooks, 0);
  const double largest = golden.numbers[0];
  const std::span<const float> logits = network->logits();
  // Every 20th of 1000 classes is in the file, and each of 10.
  const size_t expected = golden.numbers.size() - 1;
  const size_t apart = logits.size() / expected;
  double distance = 0;
  for (size_t i = 0; i < expected; ++i) {
    const double error = std::abs(logits[i * apart] - golden.numbers[i + 1]);
    distance = std::isfinite(error) ? std::max(distance, error / largest) : INFINITY;
  }
  for (const float logit : logits) CHECK_TRUE(std::abs(logit) <= 1.001 * largest);
  return distance;
}

}  // namespace

TEST_GROUP(TorchLosses){};

TEST(TorchLosses, TenStepsOfTrainingLoseWhatPyTorchLoses) {
  size_t steps = 0;
  const std::vector<Golden> lines = ReadGolden("losses.txt");
  for (const Golden& golden : lines) steps += TrainAsPyTorch(TrainingCase(golden));
  LONGS_EQUAL(5, lines.size());
  CHECK_TRUE(kMostMacs == INT64_MAX ? steps == 50 : steps >= 11);
}

TEST_GROUP(TorchLogits){};

TEST(TorchLogits, EveryModelOfTheZooAnswersAsPyTorch) {
  int compared = 0;
  const std::vector<Golden> lines = ReadGolden("logits.txt");
  LONGS_EQUAL(model::Zoo().size(), lines.size());
  for (const Golden& golden : lines) {
    if (2 * model::BuildModel(golden.model)->macs() > kMostMacs) continue;
    // PyTorch's own float32 is up to 4e-6 from its float64.
    DOUBLES_EQUAL_TEXT(0, DistanceOfLogits(golden), 1e-4, golden.model.c_str());
    ++compared;
  }
  CHECK_TRUE(kMostMacs == INT64_MAX ? compared == 14 : compared >= 2);
}

}  // namespace weft::train
