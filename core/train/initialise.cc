// SPDX-License-Identifier: Apache-2.0
// Only operations that IEEE 754 rounds exactly are used to draw, and CMakeLists.txt forbids fused
// multiply-adds for this file: the mathematical library's log would differ between machines.
#include "core/train/initialise.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <functional>
#include <string>
#include <variant>

#include "core/rng.h"

namespace weft::train {
namespace {

using Kind = Distribution::Kind;

// Each run of so many values of a tensor has a random stream of its own, so that threads can share
// a tensor. Even, because normal values come in pairs.
constexpr int64_t kRun = 4096;

// The weights of one layer, as PyTorch's initialisers see them. Groups are not taken into account
// (a depthwise convolution has the fan-out of a full one of depth 1), because PyTorch does not.
struct Fans {
  explicit Fans(const Shape& weight)  // [O][I/groups][KH][KW] or [O][I]
      : in(static_cast<double>(weight.elements()) / static_cast<double>(weight[0])),
        out(static_cast<double>(weight.elements()) / static_cast<double>(weight[1])) {}

  double in;
  double out;
};

Distribution Constant(double value) { return {Kind::kConstant, value}; }
// nn.Conv2d's and nn.Linear's own, for weights (kaiming_uniform_ with a = sqrt(5)) and biases.
Distribution TorchDefault(const Fans& fans) { return {Kind::kUniform, 1 / std::sqrt(fans.in)}; }
Distribution KaimingUniform(const Fans& fans) { return {Kind::kUniform, std::sqrt(6 / fans.in)}; }
Distribution KaimingNormalOut(const Fans& fans) { return {Kind::kNormal, std::sqrt(2 / fans.out)}; }
// torchvision's trunc_normal_ of GoogLeNet too: it cuts off at 200 deviations, which never happens.
Distribution Normal001(const Fans&) { return {Kind::kNormal, 0.01}; }
Distribution Zero(const Fans&) { return Constant(0); }

using Rule = Distribution (*)(const Fans& fans);

// How a family of models draws. Batch normalisations start as the identity in all of them.
struct Recipe {
  std::string_view model_prefix;
  Rule conv_weight;
  Rule conv_bias;
  Rule linear_weight;
  Rule linear_bias;
  Rule last_conv_weight;  // of a convolution that is the classifier
};

constexpr Recipe kDefault = {"",           TorchDefault, TorchDefault,
                             TorchDefault, TorchDefault, TorchDefault};

constexpr Recipe kRecipes[] = {
    {"resnet", KaimingNormalOut, TorchDefault, TorchDefault, TorchDefault, KaimingNormalOut},
    {"vgg", KaimingNormalOut, Zero, Normal001, Zero, KaimingNormalOut},
    {"googlenet", Normal001, TorchDefault, Normal001, TorchDefault, Normal001},
    {"mobilenet_v2", KaimingNormalOut, Zero, Normal001, Zero, KaimingNormalOut},
    {"squeezenet", KaimingUniform, Zero, TorchDefault, TorchDefault, Normal001},
    // lenet5 and inception_v4 are left as PyTorch makes them.
};

const Recipe& RecipeFor(std::string_view model_name) {
  for (const Recipe& recipe : kRecipes) {
    if (model_name.starts_with(recipe.model_prefix)) return recipe;
  }
  return kDefault;
}

// Weight, and bias where there is one.
void AddWeighted(std::span<const model::TensorSpec> tensors, Rule weight, Rule bias,
                 std::vector<Distribution>& out) {
  const Fans fans(tensors[0].shape);
  out.push_back(weight(fans));
  if (tensors.size() > 1) out.push_back(bias(fans));
}

// The natural logarithm of a number in [2^-1000, 1), to the last few bits of a double.
double Log(double x) {
  // x = fraction * 2^exponent, with the fraction in [1/sqrt(2), sqrt(2)): taking the bits of the
  // lower end away leaves the exponent right, and putting them back the fraction.
  constexpr uint64_t kRootHalf = std::bit_cast<uint64_t>(0.70710678118654752);
  const uint64_t bits = std::bit_cast<uint64_t>(x) - kRootHalf;
  const int64_t exponent = static_cast<int64_t>(bits) >> 52;
  const uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  const double fraction = std::bit_cast<double>(mantissa + kRootHalf);
  // log f = 2 artanh((f - 1) / (f + 1)), a series in z with z * z < 0.03.
  const double z = (fraction - 1) / (fraction + 1);
  const double zz = z * z;
  static constexpr double kSeries[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                       1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  double series = 0;
  for (const double coefficient : kSeries) series = series * zz + coefficient;
  return static_cast<double>(exponent) * 0.69314718055994531 + 2 * z * series;
}

// Two independent normal values by Marsaglia's polar method.
void DrawNormalPair(Rng& rng, double& first, double& second) {
  double x, y, s;
  do {
    x = 2 * rng.Fraction() - 1;
    y = 2 * rng.Fraction() - 1;
    s = x * x + y * y;
  } while (s >= 1 || s == 0);
  const double stretch = std::sqrt(-2 * Log(s) / s);
  first = x * stretch;
  second = y * stretch;
}

void DrawRun(const Distribution& distribution, Rng rng, std::span<float> values) {
  const double scale = distribution.scale;
  if (distribution.kind == Kind::kUniform) {
    for (float& value : values) value = static_cast<float>((2 * rng.Fraction() - 1) * scale);
    return;
  }
  for (size_t i = 0; i < values.size(); i += 2) {
    double first, second;
    DrawNormalPair(rng, first, second);
    values[i] = static_cast<float>(first * scale);
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(second * scale);
  }
}

// FNV-1a, 64 bits: streams must not change when a standard library's hash does.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace

std::vector<Distribution> InitialDistributions(const model::Graph& graph) {
  const Recipe& recipe = RecipeFor(graph.name());
  const model::Node* last_weighted = nullptr;
  for (const model::Node& node : graph.nodes()) {
    if (model::IsWeighted(node.layer)) last_weighted = &node;
  }
  std::vector<Distribution> out;
  for (const model::Node& node : graph.nodes()) {
    const std::span<const model::TensorSpec> tensors = graph.TensorsOf(node);
    if (std::holds_alternative<model::Conv2d>(node.layer)) {
      const bool last = &node == last_weighted;
      AddWeighted(tensors, last ? recipe.last_conv_weight : recipe.conv_weight, recipe.conv_bias,
                  out);
    } else if (std::holds_alternative<model::Linear>(node.layer)) {
      AddWeighted(tensors, recipe.linear_weight, recipe.linear_bias, out);
    } else if (std::holds_alternative<model::BatchNorm>(node.layer)) {
      // weight, bias, running_mean, running_var, num_batches_tracked
      for (const double value : {1, 0, 0, 1, 0}) out.push_back(Constant(value));
    }
  }
  assert(out.size() == graph.tensors().size());
  return out;
}

void Draw(const Distribution& distribution, std::string_view name, uint64_t seed,
          std::span<float> values, Parallel& parallel) {
  if (distribution.kind == Kind::kConstant) {
    std::fill(values.begin(), values.end(), static_cast<float>(distribution.scale));
    return;
  }
  const uint64_t stream = HashName(name);
  const int64_t count = std::ssize(values);
  parallel.For((count + kRun - 1) / kRun, [&](int64_t first, int64_t last) {
    for (int64_t run = first; run < last; ++run) {
      const int64_t begin = run * kRun;
      const int64_t length = std::min(kRun, count - begin);
      DrawRun(distribution, Rng(seed, stream + static_cast<uint64_t>(run)),
              values.subspan(static_cast<size_t>(begin), static_cast<size_t>(length)));
    }
  });
}

void Initialise(Parameters& parameters, uint64_t seed, Parallel& parallel) {
  const std::span<const model::TensorSpec> tensors = parameters.graph().tensors();
  const std::vector<Distribution> distributions = InitialDistributions(parameters.graph());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto id = static_cast<model::TensorId>(i);
    if (tensors[i].role == model::TensorRole::kBatchCounter) {
      parameters.Counter(id) = 0;
    } else {
      Draw(distributions[i], tensors[i].name, seed, parameters.Tensor(id), parallel);
    }
  }
}

}  // namespace weft::train
