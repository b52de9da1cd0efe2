// SPDX-License-Identifier: Apache-2.0
// The ops of real networks, each once: the shapes a backend has to be right and fast on.
#pragma once

#include <vector>

#include "core/kernel.h"
#include "core/model/graph.h"

namespace weft::harness {

enum class Join {
  kNothing,      // every layer stands alone
  kActivations,  // to the Conv2d, Linear, BatchNorm or Add that nothing else reads
};

// In the order of their first appearance, in training.
std::vector<OpSpec> DistinctOps(const model::Graph& graph, int batch, Join join);

}  // namespace weft::harness
