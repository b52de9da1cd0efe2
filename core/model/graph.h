// SPDX-License-Identifier: Apache-2.0
// A network as a graph of layers for one input size: who feeds whom, every output shape, every
// tensor, every cost. It holds no data and runs nothing; memory plans, kernels and schedules are
// made from it. Immutable once built (graph_builder.h), so any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/layer.h"
#include "core/model/layer_tensors.h"
#include "core/shape.h"

namespace weft::model {

using NodeId = int;    // place in Graph::nodes()
using TensorId = int;  // place in Graph::tensors()

struct Node {
  std::string name;  // PyTorch's module path, "layer1.0.conv1"; unique
  Layer layer;
  std::vector<NodeId> inputs;  // each smaller than the node's own id
  Shape output;                // of one image, [C][H][W] or [F]; the batch goes in front
  int64_t macs = 0;            // multiply-adds for one image: products with weights, nothing else
  TensorId first_tensor = 0;
  int tensor_count = 0;
};

class Graph {
 public:
  const std::string& name() const { return name_; }

  // In an order in which they can run. The first is the Input, the last is the output of the
  // network, and every other one is used by a later one.
  std::span<const Node> nodes() const { return nodes_; }
  // In the order of the nodes, which is PyTorch's state_dict() order for every model of the zoo.
  std::span<const TensorSpec> tensors() const { return tensors_; }
  std::span<const TensorSpec> TensorsOf(const Node& node) const {
    return tensors().subspan(node.first_tensor, node.tensor_count);
  }

  const Shape& input_shape() const { return nodes_.front().output; }
  const Shape& output_shape() const { return nodes_.back().output; }
  int64_t parameter_count() const;  // trained elements; running statistics are not among them
  int64_t macs() const;             // for one image

 private:
  friend class GraphBuilder;
  Graph() = default;

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<TensorSpec> tensors_;
};

}  // namespace weft::model
