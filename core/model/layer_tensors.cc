// SPDX-License-Identifier: Apache-2.0
#include "core/model/layer_tensors.h"

#include <variant>

namespace weft::model {
namespace {

std::vector<TensorSpec> WeightAndBias(const std::string& name, Shape weight, bool bias) {
  std::vector<TensorSpec> tensors = {{name + ".weight", weight}};
  if (bias) tensors.push_back({name + ".bias", Shape{weight[0]}});
  return tensors;
}

std::vector<TensorSpec> Tensors(const Conv2d& conv, const std::string& name) {
  const Shape weight{conv.out_channels, conv.in_channels / conv.groups, conv.kernel.h,
                     conv.kernel.w};
  return WeightAndBias(name, weight, conv.bias);
}

std::vector<TensorSpec> Tensors(const Linear& linear, const std::string& name) {
  return WeightAndBias(name, Shape{linear.out_features, linear.in_features}, linear.bias);
}

std::vector<TensorSpec> Tensors(const BatchNorm& norm, const std::string& name) {
  const Shape per_channel{norm.channels};
  return {{name + ".weight", per_channel},
          {name + ".bias", per_channel},
          {name + ".running_mean", per_channel, TensorRole::kRunningStatistic},
          {name + ".running_var", per_channel, TensorRole::kRunningStatistic},
          {name + ".num_batches_tracked", Shape{}, TensorRole::kBatchCounter}};
}

template <typename Stateless>
std::vector<TensorSpec> Tensors(const Stateless&, const std::string&) {
  return {};
}

}  // namespace

int64_t TensorSpec::bytes() const {
  const int64_t element = role == TensorRole::kBatchCounter ? sizeof(int64_t) : sizeof(float);
  return shape.elements() * element;
}

std::vector<TensorSpec> TensorsOf(const Layer& layer, const std::string& layer_name) {
  return std::visit([&](const auto& kind) { return Tensors(kind, layer_name); }, layer);
}

}  // namespace weft::model
