// SPDX-License-Identifier: Apache-2.0
// A network as the list of ops that run for one batch size: activations joined to the layer
// before them, in the order of the units. Made from a Graph; decides nothing about memory or
// kernels.
#pragma once

#include <string>
#include <vector>

#include "core/kernel.h"
#include "core/model/graph.h"

namespace weft::train {

using ValueId = int;  // place in Program::values; value 0 is the batch of images
using OpId = int;     // place in Program::ops

struct Value {
  Shape shape;         // with the batch in front
  OpId producer = -1;  // -1: the batch of images
  std::vector<OpId> consumers;
};

struct Op {
  std::string name;  // the layer's
  OpSpec spec;
  std::vector<ValueId> srcs;
  ValueId dst = 0;
  int unit = 0;                             // place among the units, first is 0
  std::vector<model::TensorId> parameters;  // weight, bias
  std::vector<model::TensorId> running;     // BatchNorm: mean, variance
  int64_t macs = 0;                         // forward, of the whole batch
};

// Whether an op only looks at its source differently: Flatten always, Dropout in evaluation.
bool IsView(const Op& op);

struct Program {
  std::vector<Op> ops;
  std::vector<Value> values;
  int units = 0;

  ValueId output() const { return ops.back().dst; }
};

Program LowerGraph(const model::Graph& graph, int batch, bool training);

}  // namespace weft::train
