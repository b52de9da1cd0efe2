// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/zoo_ops.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "tests/op_harness/op_data.h"

namespace weft::harness {
namespace {

using model::Node;
using model::NodeId;

Shape WithBatch(int batch, const Shape& image) {
  if (image.rank() == 1) return {batch, image[0]};
  return {batch, image[0], image[1], image[2]};
}

Activation ActivationOf(const model::Layer& layer) {
  if (std::holds_alternative<model::Relu>(layer)) return Activation::kRelu;
  if (std::holds_alternative<model::Relu6>(layer)) return Activation::kRelu6;
  return Activation::kNone;
}

}  // namespace

std::vector<OpSpec> DistinctOps(const model::Graph& graph, int batch, Join join) {
  const auto nodes = graph.nodes();
  std::vector<std::vector<NodeId>> readers(nodes.size());
  for (size_t id = 0; id < nodes.size(); ++id) {
    for (NodeId input : nodes[id].inputs) readers[input].push_back(static_cast<NodeId>(id));
  }
  // What is joined to the node, if anything is.
  const auto joined = [&](NodeId id) {
    if (join == Join::kNothing || !TakesActivation(nodes[id].layer) || readers[id].size() != 1) {
      return Activation::kNone;
    }
    return ActivationOf(nodes[readers[id][0]].layer);
  };

  std::vector<OpSpec> ops;
  std::set<std::string> seen;
  for (size_t id = 1; id < nodes.size(); ++id) {
    const Node& node = nodes[id];
    if (joined(node.inputs[0]) != Activation::kNone) continue;  // is part of its input's op
    OpSpec op;
    op.layer = node.layer;
    op.activation = joined(static_cast<NodeId>(id));
    for (NodeId input : node.inputs) op.srcs.push_back(WithBatch(batch, nodes[input].output));
    op.dst = WithBatch(batch, node.output);
    if (seen.insert(Describe(op)).second) ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace weft::harness
