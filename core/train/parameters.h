// SPDX-License-Identifier: Apache-2.0
// A model's tensors in memory: parameters in one flat block ordered by unit, so that neighbouring
// units are one span, and the running statistics beside them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/model/graph.h"
#include "core/model/units.h"

namespace weft::train {

// Thread: none of its own; whoever writes a tensor makes sure that nobody reads it.
class Parameters {
 public:
  enum class Contents {
    kZeros,
    kUntouched,  // room only, which takes no memory until it is written: to plan with
  };
  // `graph` must outlive it.
  explicit Parameters(const model::Graph& graph, Contents contents = Contents::kZeros);

  const model::Graph& graph() const { return graph_; }
  int units() const { return static_cast<int>(unit_begin_.size()) - 1; }

  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  std::span<float> statistics() { return statistics_; }
  std::span<const float> statistics() const { return statistics_; }
  std::span<int64_t> counters() { return counters_; }
  std::span<const int64_t> counters() const { return counters_; }

  // Where the parameters of units first..last lie in values().
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Range UnitRange(int first, int last) const { return {unit_begin_[first], unit_begin_[last + 1]}; }

  // One tensor of the graph, whichever block it lives in. A counter has no floats.
  std::span<float> Tensor(model::TensorId id);
  std::span<const float> Tensor(model::TensorId id) const;
  int64_t& Counter(model::TensorId id);

 private:
  const model::Graph& graph_;
  Arena arena_;
  std::vector<int64_t> offset_;      // by tensor, in its block
  std::vector<int64_t> unit_begin_;  // [units + 1], in values_
  std::span<float> values_;
  std::span<float> statistics_;
  std::vector<int64_t> counters_;
};

}  // namespace weft::train
