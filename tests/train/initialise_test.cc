// SPDX-License-Identifier: Apache-2.0
// First parameters against those of fresh torchvision and timm models: what golden/write_golden.py
// measured on theirs is measured on ours.
#include "core/train/initialise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/graph_builder.h"
#include "core/model/zoo.h"
#include "tests/train/threads.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

// One tensor that is not constant.
struct InitialGolden {
  std::string_view model;
  std::string_view tensor;
  double mean;
  double deviation;
  double largest;  // of the absolute values
};

constexpr InitialGolden kInitialGolden[] = {
#include "tests/train/golden/initial.inc"
};

const InitialGolden* FindGolden(std::string_view model, std::string_view tensor) {
  const auto found =
      std::find_if(std::begin(kInitialGolden), std::end(kInitialGolden),
                   [&](const InitialGolden& g) { return g.model == model && g.tensor == tensor; });
  return found == std::end(kInitialGolden) ? nullptr : found;
}

struct Measured {
  double mean;
  double deviation;
  double largest;
};

Measured Measure(const std::vector<float>& values) {
  double sum = 0, squares = 0, largest = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
  }
  const auto count = static_cast<double>(values.size());
  return {sum / count, std::sqrt(squares / count - sum / count * sum / count), largest};
}

// The beginning of a tensor is enough to know it by.
constexpr int64_t kMost = 50'000;

std::vector<float> DrawTensor(const Distribution& distribution, const model::TensorSpec& tensor,
                              uint64_t seed, int64_t most = kMost) {
  Serial serial;
  std::vector<float> values(static_cast<size_t>(std::min(tensor.shape.elements(), most)), 99.0f);
  Draw(distribution, tensor.name, seed, values, serial);
  return values;
}

void CheckConstant(const model::TensorSpec& tensor, const std::vector<float>& values) {
  // Of a batch normalisation, the weights and variances; everything else that is constant is 0.
  const bool one = tensor.name.ends_with("weight") || tensor.name.ends_with("running_var");
  for (const float value : values) DOUBLES_EQUAL(one ? 1 : 0, value, 0);
}

// Both sides are samples of n values. The mean of n has a deviation of deviation / sqrt(n), and the
// measured deviation one of at most deviation / sqrt(2 n): six of them, for the difference of two.
void CheckLikePeer(const InitialGolden& golden, const std::vector<float>& values) {
  const std::string name = std::string(golden.model) + " " + std::string(golden.tensor);
  const Measured ours = Measure(values);
  const auto count = static_cast<double>(values.size());
  const double mean_tolerance = 6 * std::sqrt(2 / count) * golden.deviation;
  const double deviation_tolerance = (6 / std::sqrt(count) + 1e-3) * golden.deviation;
  CHECK_TEXT(std::abs(golden.mean - ours.mean) < mean_tolerance, name.c_str());
  CHECK_TEXT(std::abs(golden.deviation - ours.deviation) < deviation_tolerance, name.c_str());
  // A uniform distribution ends at sqrt(3) deviations; a normal one goes on.
  if (values.size() < 200) return;
  CHECK_EQUAL_TEXT(golden.largest / golden.deviation > 2, ours.largest / ours.deviation > 2,
                   name.c_str());
}

void CheckModel(std::string_view model_name) {
  const model::Graph graph = model::BuildModel(model_name, {.classes = 10}).value();
  const std::vector<Distribution> distributions = InitialDistributions(graph);
  LONGS_EQUAL(graph.tensors().size(), distributions.size());
  for (size_t i = 0; i < distributions.size(); ++i) {
    const model::TensorSpec& tensor = graph.tensors()[i];
    const InitialGolden* golden = FindGolden(model_name, tensor.name);
    const bool constant = distributions[i].kind == Distribution::Kind::kConstant;
    CHECK_EQUAL_TEXT(golden == nullptr, constant, tensor.name.c_str());
    if (tensor.role == model::TensorRole::kBatchCounter) continue;
    const std::vector<float> values = DrawTensor(distributions[i], tensor, 1);
    if (constant) CheckConstant(tensor, values);
    if (golden != nullptr) CheckLikePeer(*golden, values);
  }
}

const model::TensorSpec kLarge{"classifier.0.weight", {100, 100}};

}  // namespace

TEST_GROUP(Initialise){};

TEST(Initialise, DrawsLenet5LikePyTorch) { CheckModel("lenet5"); }
TEST(Initialise, DrawsResnetLikeTorchvision) { CheckModel("resnet18"); }
TEST(Initialise, DrawsVggLikeTorchvision) { CheckModel("vgg11"); }
TEST(Initialise, DrawsGooglenetLikeTorchvision) { CheckModel("googlenet"); }
TEST(Initialise, DrawsMobilenetLikeTorchvision) { CheckModel("mobilenet_v2"); }
TEST(Initialise, DrawsSqueezenetLikeTorchvision) { CheckModel("squeezenet1_1"); }
TEST(Initialise, DrawsInceptionLikeTimm) { CheckModel("inception_v4"); }

TEST(Initialise, DrawsAnUnknownModelAsPyTorchWould) {
  model::GraphBuilder builder("mine", {3, 8, 8});
  builder.Add("conv", model::Conv2d{.out_channels = 4, .kernel = 3}, {model::GraphBuilder::kInput});
  const model::Graph graph = std::move(builder).Finish().value();
  for (const Distribution& distribution : InitialDistributions(graph)) {
    CHECK(distribution.kind == Distribution::Kind::kUniform);
    DOUBLES_EQUAL(1 / std::sqrt(27.0), distribution.scale, 1e-12);
  }
}

TEST(Initialise, NormalValuesHaveTheTailsOfANormalDistribution) {
  const std::vector<float> values =
      DrawTensor({Distribution::Kind::kNormal, 1.0}, {"x", {1'000'000}}, 3, 1'000'000);
  // Shares beyond 1, 2, 3 and 4 deviations; tolerance six deviations of the count.
  const double beyond[] = {0.3173105, 0.0455003, 0.0026998, 0.0000633};
  for (int k = 1; k <= 4; ++k) {
    const auto count = std::count_if(values.begin(), values.end(),
                                     [k](float value) { return std::abs(value) > k; });
    const double expected = beyond[k - 1] * 1e6;
    DOUBLES_EQUAL(expected, static_cast<double>(count), 6 * std::sqrt(expected));
  }
}

TEST(Initialise, UniformValuesStayWithinTheirBoundAndNearIt) {
  const std::vector<float> values = DrawTensor({Distribution::Kind::kUniform, 0.25}, kLarge, 4);
  const double largest = Measure(values).largest;
  CHECK(largest <= 0.25);
  CHECK(largest > 0.249);
}

TEST(Initialise, AValueDependsOnTheSeedAndTheTensorsName) {
  const Distribution normal{Distribution::Kind::kNormal, 1.0};
  const std::vector<float> first = DrawTensor(normal, kLarge, 1);
  CHECK(first == DrawTensor(normal, kLarge, 1));
  CHECK(first != DrawTensor(normal, kLarge, 2));
  CHECK(first != DrawTensor(normal, {"classifier.3.weight", {100, 100}}, 1));
}

TEST(Initialise, NeighbouringRunsOfATensorAreDifferent) {
  const std::vector<float> values =
      DrawTensor({Distribution::Kind::kNormal, 1.0}, {"x", {3 * 4096}}, 1);
  for (size_t i = 0; i < 4096; ++i) {
    CHECK(values[i] != values[i + 4096]);
    CHECK(values[i + 4096] != values[i + 2 * 4096]);
  }
}

TEST(Initialise, GivesTheSameBitsWithAnyNumberOfThreads) {
  const model::Graph graph = model::BuildModel("resnet18-cifar").value();
  Parameters one(graph);
  Serial serial;
  Initialise(one, 7, serial);
  for (int threads : {2, 5}) {
    Parameters many(graph);
    FreshThreads parallel(threads);
    Initialise(many, 7, parallel);
    CHECK(std::equal(one.values().begin(), one.values().end(), many.values().begin()));
  }
}

TEST(Initialise, SetsStatisticsAndCountersBack) {
  const model::Graph graph = model::BuildModel("resnet18-cifar").value();
  Parameters parameters(graph);
  std::fill(parameters.statistics().begin(), parameters.statistics().end(), 5.0f);
  std::fill(parameters.counters().begin(), parameters.counters().end(), 5);
  Serial serial;
  Initialise(parameters, 7, serial);
  for (size_t i = 0; i < graph.tensors().size(); ++i) {
    const auto id = static_cast<model::TensorId>(i);
    if (graph.tensors()[i].role == model::TensorRole::kBatchCounter) {
      LONGLONGS_EQUAL(0, parameters.Counter(id));
    } else if (graph.tensors()[i].role == model::TensorRole::kRunningStatistic) {
      const float expected = graph.tensors()[i].name.ends_with("running_var") ? 1.0f : 0.0f;
      for (const float value : parameters.Tensor(id)) DOUBLES_EQUAL(expected, value, 0);
    }
  }
}

// Not the bits of one machine: of all. The sum was computed on x86-64.
TEST(Initialise, GivesTheSameBitsOnEveryMachine) {
  uint64_t hash = 0;
  for (const auto kind : {Distribution::Kind::kUniform, Distribution::Kind::kNormal}) {
    for (const float value : DrawTensor({kind, 0.37}, {"fc.weight", {99999}}, 2024, 99999)) {
      hash = hash * 31 + std::bit_cast<uint32_t>(value);
    }
  }
  UNSIGNED_LONGLONGS_EQUAL(0x7D15CA3C319F429Du, hash);
}

}  // namespace weft::train
