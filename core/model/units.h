// SPDX-License-Identifier: Apache-2.0
// Cuts a network into units, the steps that a communication schedule sees. A unit is one depth of
// the network: all weighted layers, whatever their branch, that are equally far from the input by
// the longest way, counted in weighted layers, and their batch normalisations with them. Layers
// without parameters join the next unit, or the last one where none follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/graph.h"

namespace weft::model {

struct Unit {
  std::string name;  // of its weighted layer; of several, what they share: "inception3a.*@4"
  std::vector<NodeId> nodes;         // in the order of the graph
  std::vector<TensorId> parameters;  // trained tensors, in the order of the graph
  std::vector<TensorId> buffers;     // running statistics and batch counters
  int64_t bytes = 0;                 // of the parameters: what a pull or a push moves
  int64_t buffer_bytes = 0;          // of the buffers: each worker's own, not part of a round
  int64_t macs = 0;                  // for one image
};

// From the input to the output. Each node and each tensor is in exactly one unit, and running the
// units one after the other runs every node after its inputs.
std::vector<Unit> CutIntoUnits(const Graph& graph);

}  // namespace weft::model
