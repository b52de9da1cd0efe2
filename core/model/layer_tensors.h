// SPDX-License-Identifier: Apache-2.0
// The tensors a layer keeps from step to step, under the names and in the order in which PyTorch's
// state_dict() lists them, so that a checkpoint can be read and written key by key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/layer.h"
#include "core/shape.h"

namespace weft::model {

enum class TensorRole {
  kParameter,         // float32, trained: has a gradient and travels
  kRunningStatistic,  // float32, kept by a batch normalisation, never trained
  kBatchCounter,      // int64 scalar, the batches a batch normalisation has seen
};

struct TensorSpec {
  std::string name;  // "layer1.0.conv1.weight"
  Shape shape;       // [O][I/groups][KH][KW], [O][I], [C] or, for a counter, []
  TensorRole role = TensorRole::kParameter;

  int64_t bytes() const;

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Empty for a layer without state. Channel counts must be filled in.
std::vector<TensorSpec> TensorsOf(const Layer& layer, const std::string& layer_name);

}  // namespace weft::model
