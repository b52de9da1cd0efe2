// SPDX-License-Identifier: Apache-2.0
#include "core/train/parameters.h"

#include <algorithm>
#include <cassert>

namespace weft::train {

using model::TensorId;
using model::TensorRole;

Parameters::Parameters(const model::Graph& graph, Contents contents)
    : graph_(graph), arena_(Arena::kAlignment), offset_(graph.tensors().size(), 0) {
  int64_t values = 0;
  int64_t statistics = 0;
  int64_t counters = 0;
  unit_begin_.push_back(0);
  for (const model::Unit& unit : model::CutIntoUnits(graph)) {
    for (TensorId id : unit.parameters) {
      offset_[id] = values;
      values += graph.tensors()[id].shape.elements();
    }
    for (TensorId id : unit.buffers) {
      const model::TensorSpec& tensor = graph.tensors()[id];
      int64_t& end = tensor.role == TensorRole::kBatchCounter ? counters : statistics;
      offset_[id] = end;
      end += tensor.shape.elements();
    }
    unit_begin_.push_back(values);
  }
  const auto take = [&](int64_t count) {
    const std::span<float> block = arena_.Take<float>(static_cast<size_t>(count));
    if (contents == Contents::kZeros) std::fill(block.begin(), block.end(), 0.0f);
    return block;
  };
  values_ = take(values);
  statistics_ = take(statistics);
  counters_.assign(static_cast<size_t>(counters), 0);
}

std::span<float> Parameters::Tensor(TensorId id) {
  const model::TensorSpec& tensor = graph_.tensors()[id];
  if (tensor.role == TensorRole::kBatchCounter) return {};
  const std::span<float> block = tensor.role == TensorRole::kParameter ? values_ : statistics_;
  return block.subspan(static_cast<size_t>(offset_[id]),
                       static_cast<size_t>(tensor.shape.elements()));
}

std::span<const float> Parameters::Tensor(TensorId id) const {
  return const_cast<Parameters*>(this)->Tensor(id);  // NOLINT: the non-const one changes nothing
}

int64_t& Parameters::Counter(TensorId id) {
  assert(graph_.tensors()[id].role == TensorRole::kBatchCounter);
  return counters_[static_cast<size_t>(offset_[id])];
}

}  // namespace weft::train
