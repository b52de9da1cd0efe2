// SPDX-License-Identifier: Apache-2.0
// Whole networks on the reference kernels: gradients against finite differences of the loss,
// recomputation against keeping, and what a step must not do.
#include "core/train/network.h"

#include <cmath>

#include "core/model/zoo.h"
#include "core/rng.h"
#include "core/train/initialise.h"
#include "core/train/loss.h"
#include "kernels/ref/backend.h"
#include "kernels/registry.h"

#include <CppUTest/TestHarness.h>

namespace {

bool counting = false;
int64_t allocations = 0;

}  // namespace

// The linker sends every malloc here (--wrap=malloc), operator new's too.
extern "C" {
void* __real_malloc(size_t bytes);   // NOLINT: the linker's name for the real one
void* __wrap_malloc(size_t bytes) {  // NOLINT
  if (counting) ++allocations;
  return __real_malloc(bytes);
}
}

namespace weft::train {
namespace {

// A model with its parameters, made-up images, and one network or more on it.
class Bench {
 public:
  Bench(const char* model, const model::ModelOptions& options, int batch)
      : graph_(model::BuildModel(model, options).value()), parameters_(graph_), batch_(batch) {
    Initialise(parameters_, 1, serial_);
    Rng rng(3);
    images_.resize(static_cast<size_t>(batch * graph_.input_shape().elements()));
    for (float& pixel : images_) pixel = static_cast<float>(2 * rng.Fraction() - 1);
    for (int i = 0; i < batch; ++i)
      labels_.push_back(static_cast<int>(rng.Between(0, Classes() - 1)));
  }

  Result<std::unique_ptr<Network>> Make(size_t memory_budget) {
    return Network::Create(parameters_, registry_, serial_,
                           {.batch = batch_, .training = true, .memory_budget = memory_budget});
  }

  double Loss(Network& network, bool with_gradients) {
    std::copy(images_.begin(), images_.end(), network.images().begin());
    network.ParametersChanged();
    network.Forward(hooks_, 5);
    const double loss =
        SoftmaxCrossEntropy(network.logits(), Classes(), labels_, 0.1, network.d_logits()).value();
    if (with_gradients) network.Backward(hooks_);
    return loss;
  }

  int Classes() const { return static_cast<int>(graph_.output_shape()[0]); }
  Parameters& parameters() { return parameters_; }
  NullHooks& hooks() { return hooks_; }

 private:
  Serial serial_;
  SteadyClock clock_;
  ref::RefBackend backend_{serial_};
  Registry registry_{{&backend_}, clock_, {}};
  model::Graph graph_;
  Parameters parameters_;
  int batch_;
  NullHooks hooks_;
  std::vector<float> images_;
  std::vector<int> labels_;
};

std::vector<float> AllGradients(const Network& network) {
  std::vector<float> all;
  for (int unit = 0; unit < network.program().units; ++unit) {
    const std::span<const float> gradients = network.Gradients(unit);
    all.insert(all.end(), gradients.begin(), gradients.end());
  }
  return all;
}

}  // namespace

TEST_GROUP(Network){};

TEST(Network, GradientsAreThoseOfTheLoss) {
  Bench bench("lenet5", {}, 4);
  const auto network = bench.Make(0).value();
  const std::span<float> values = bench.parameters().values();
  for (int unit = 0; unit < network->program().units; ++unit) {
    for (float& g : network->Gradients(unit)) g = std::nanf("");
  }
  bench.Loss(*network, true);
  const std::vector<float> gradients = AllGradients(*network);
  LONGS_EQUAL(values.size(), gradients.size());
  for (float g : gradients) CHECK_TRUE(std::isfinite(g));
  Rng rng(9);
  for (int check = 0; check < 30; ++check) {
    const auto i = static_cast<size_t>(rng.Between(0, static_cast<int64_t>(values.size()) - 1));
    const float value = values[i];
    const float step = 2e-3f;
    values[i] = value + step;
    const double above = bench.Loss(*network, false);
    values[i] = value - step;
    const double below = bench.Loss(*network, false);
    values[i] = value;
    // Float losses of about 2.3 carry 2e-7 of noise: 1e-4 of a difference quotient. A ReLU or a
    // maximum that changes sides on the way adds some.
    DOUBLES_EQUAL((above - below) / (2.0 * step), gradients[i], 2e-3);
  }
}

TEST(Network, ComputingAgainGivesTheSameBitsInLessMemory) {
  for (const char* model : {"googlenet", "mobilenet_v2"}) {
    Bench bench(model, {.classes = 10, .input = {3, 32, 32}}, 2);
    const auto all_kept = bench.Make(0).value();
    const double loss = bench.Loss(*all_kept, true);
    const std::vector<float> gradients = AllGradients(*all_kept);
    const size_t budget = all_kept->memory().activations * 8 / 10;
    const auto frugal = bench.Make(budget).value();
    CHECK_TRUE(frugal->memory().activations <= budget);
    CHECK_TRUE(frugal->memory().ops_computed_again > 0);
    CHECK_TRUE(loss == bench.Loss(*frugal, true));
    CHECK_TRUE(gradients == AllGradients(*frugal));
  }
}

TEST(Network, ABudgetThatCannotBeMetIsRefusedWithWhatCould) {
  Bench bench("lenet5", {}, 64);
  const Status status = bench.Make(1000).status();
  STRCMP_CONTAINS("batch 64 needs at least", status.message().c_str());
  STRCMP_CONTAINS("MiB", status.message().c_str());
}

TEST(Network, AStepAllocatesNothing) {
  Bench bench("lenet5", {}, 2);
  const auto network = bench.Make(0).value();
  bench.Loss(*network, true);
  allocations = 0;
  counting = true;
  bench.Loss(*network, true);
  counting = false;
  LONGLONGS_EQUAL(0, allocations);
  // The counter does count.
  counting = true;
  const auto noticed = std::make_unique<std::vector<int>>(10);
  counting = false;
  CHECK_TRUE(allocations > 0 && noticed->size() == 10);
}

TEST(Network, HooksSeeUnitsUpAndDown) {
  class Recorder final : public StepHooks {
   public:
    void BeginStep(int64_t) override {}
    bool BeforeForward(int unit) override { return seen += "f" + std::to_string(unit), false; }
    void AfterBackward(int unit) override { seen += "b" + std::to_string(unit); }
    void EndStep() override {}
    std::string seen;
  };
  Bench bench("lenet5", {}, 1);
  const auto network = bench.Make(0).value();
  Recorder recorder;
  network->Forward(recorder, 1);
  network->Backward(recorder);
  STRCMP_EQUAL("f0f1f2f3f4b4b3b2b1b0", recorder.seen.c_str());
}

TEST(Network, NamesTheFirstLayerThatIsNotFinite) {
  Bench bench("lenet5", {}, 1);
  const auto network = bench.Make(0).value();
  bench.Loss(*network, false);
  CHECK_FALSE(network->FirstNotFinite(5).has_value());
  bench.parameters().Tensor(4)[0] = std::nanf("");  // fc1.weight
  STRCMP_EQUAL("fc1", network->FirstNotFinite(5)->c_str());
}

}  // namespace weft::train
