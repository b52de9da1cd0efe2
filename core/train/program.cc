// SPDX-License-Identifier: Apache-2.0
#include "core/train/program.h"

#include <cassert>

#include "core/model/units.h"

namespace weft::train {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;

Shape WithBatch(const Shape& image, int batch) {
  if (image.rank() == 1) return {batch, image[0]};
  assert(image.rank() == 3);
  return {batch, image[0], image[1], image[2]};
}

Activation ActivationOf(const model::Layer& layer) {
  if (std::holds_alternative<model::Relu>(layer)) return Activation::kRelu;
  if (std::holds_alternative<model::Relu6>(layer)) return Activation::kRelu6;
  return Activation::kNone;
}

class Lowering {
 public:
  Lowering(const Graph& graph, int batch, bool training)
      : graph_(graph), batch_(batch), training_(training), users_(graph.nodes().size()) {
    for (size_t id = 0; id < graph.nodes().size(); ++id) {
      for (NodeId input : graph.nodes()[id].inputs) users_[input].push_back(static_cast<int>(id));
    }
    value_of_.assign(graph.nodes().size(), -1);
    value_of_[0] = 0;
    program_.values.push_back({.shape = WithBatch(graph.input_shape(), batch)});
  }

  Program Run() {
    const std::vector<model::Unit> units = model::CutIntoUnits(graph_);
    program_.units = static_cast<int>(units.size());
    for (size_t u = 0; u < units.size(); ++u) {
      for (NodeId id : units[u].nodes) {
        if (value_of_[id] < 0) AddOp(id, static_cast<int>(u));
      }
    }
    return std::move(program_);
  }

 private:
  void AddOp(NodeId id, int unit) {
    const Node& node = graph_.nodes()[id];
    Op op{.name = node.name, .spec = {.layer = node.layer, .training = training_}, .unit = unit};
    const OpId op_id = static_cast<OpId>(program_.ops.size());
    for (NodeId input : node.inputs) {
      const ValueId value = value_of_[input];
      assert(value >= 0);
      op.srcs.push_back(value);
      op.spec.srcs.push_back(program_.values[value].shape);
      program_.values[value].consumers.push_back(op_id);
    }
    NodeId last = id;
    if (TakesActivation(node.layer) && users_[id].size() == 1) {
      const NodeId next = users_[id].front();
      op.spec.activation = ActivationOf(graph_.nodes()[next].layer);
      if (op.spec.activation != Activation::kNone) last = next;
    }
    op.dst = static_cast<ValueId>(program_.values.size());
    op.spec.dst = WithBatch(node.output, batch_);
    program_.values.push_back({.shape = op.spec.dst, .producer = op_id});
    value_of_[id] = value_of_[last] = op.dst;
    op.macs = node.macs * batch_;
    for (int i = 0; i < node.tensor_count; ++i) {
      const model::TensorId tensor = node.first_tensor + i;
      const model::TensorRole role = graph_.tensors()[tensor].role;
      if (role == model::TensorRole::kParameter) op.parameters.push_back(tensor);
      if (role == model::TensorRole::kRunningStatistic) op.running.push_back(tensor);
    }
    program_.ops.push_back(std::move(op));
  }

  const Graph& graph_;
  const int batch_;
  const bool training_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<ValueId> value_of_;  // by node; -1 until its op is made
  Program program_;
};

}  // namespace

bool IsView(const Op& op) {
  if (std::holds_alternative<model::Flatten>(op.spec.layer)) return true;
  return std::holds_alternative<model::Dropout>(op.spec.layer) && !op.spec.training;
}

Program LowerGraph(const model::Graph& graph, int batch, bool training) {
  assert(batch >= 1);
  return Lowering(graph, batch, training).Run();
}

}  // namespace weft::train
