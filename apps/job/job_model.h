// SPDX-License-Identifier: Apache-2.0
// A model as the protocol sees it: its units on the wire, what proves that both sides mean the same
// model, and the way between its tensors in memory and on the wire.
#pragma once

#include <span>
#include <vector>

#include "core/model/graph.h"
#include "core/train/parameters.h"
#include "net/message.h"
#include "net/wire_layout.h"

namespace weft::apps {

// Never fails for a graph of the zoo: InvalidInput would say that it has no parameters.
Result<net::WireLayout> WireLayoutOf(const model::Graph& graph);

// SHA-256 of the architecture: name, input, every layer's place and tensors. Weights do not matter.
net::ModelHash ArchitectureHash(const model::Graph& graph);

// The model that a job trains, as this build makes it. Unavailable: it does not know it, or makes
// another of that name.
Result<model::Graph> BuildJobModel(const net::Welcome& job);

// Where each unit's tensors lie in `parameters`, which must outlive it.
class UnitTensors {
 public:
  explicit UnitTensors(train::Parameters& parameters);

  std::span<float> Values(int unit) const;
  std::span<float> Statistics(int unit) const;
  // All of them in the order of the wire, [floats of `units`].
  void ToWire(net::WireLayout::UnitRange units, std::span<float> wire) const;
  void FromWire(net::WireLayout::UnitRange units, std::span<const float> wire) const;

 private:
  train::Parameters& parameters_;
  std::vector<int64_t> statistics_begin_;  // [units + 1]
};

}  // namespace weft::apps
