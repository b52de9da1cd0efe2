// SPDX-License-Identifier: Apache-2.0
#include "core/model/graph_builder.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/model/shape_inference.h"

namespace weft::model {
namespace {

// As torchvision publishes them: biases, normalisation and pooling are not counted.
int64_t MultiplyAdds(const Layer& layer, const Shape& output) {
  if (const auto* conv = std::get_if<Conv2d>(&layer)) {
    const int64_t per_cell =
        int64_t{conv->in_channels / conv->groups} * conv->kernel.h * conv->kernel.w;
    return per_cell * output.elements();
  }
  if (const auto* linear = std::get_if<Linear>(&layer)) {
    return int64_t{linear->in_features} * linear->out_features;
  }
  return 0;
}

// How a complaint about a layer begins: "conv2d 'layer1.0.conv1': ".
std::string Naming(const Layer& layer, const std::string& name) {
  return std::string(KindName(layer)) + " '" + name + "': ";
}

}  // namespace

GraphBuilder::GraphBuilder(std::string model_name, const Shape& input) {
  graph_.name_ = std::move(model_name);
  graph_.nodes_.push_back({.name = "input", .layer = Input{}, .inputs = {}, .output = input});
  names_.insert("input");
  if (Status status = CheckImage(input); !status.ok()) Fail(status.message());
}

NodeId GraphBuilder::Add(std::string name, Layer layer, std::vector<NodeId> inputs) {
  if (!status_.ok()) return kInput;
  const NodeId id = static_cast<NodeId>(graph_.nodes_.size());
  const std::string who = Naming(layer, name);
  if (name.empty() || !names_.insert(name).second) {
    Fail(who + "every layer needs a name of its own");
    return kInput;
  }
  std::vector<Shape> input_shapes;
  for (NodeId input : inputs) {
    if (input < 0 || input >= id) {
      Fail(who + "its input, node " + std::to_string(input) + ", does not exist");
      return kInput;
    }
    input_shapes.push_back(graph_.nodes_[input].output);
  }

  layer = WithInputCounts(std::move(layer), input_shapes);
  const Result<Shape> output = InferShape(layer, input_shapes);
  if (!output.ok()) {
    Fail(who + output.status().message());
    return kInput;
  }

  const std::vector<TensorSpec> tensors = TensorsOf(layer, name);
  graph_.nodes_.push_back({.name = std::move(name),
                           .layer = layer,
                           .inputs = std::move(inputs),
                           .output = *output,
                           .macs = MultiplyAdds(layer, *output),
                           .first_tensor = static_cast<TensorId>(graph_.tensors_.size()),
                           .tensor_count = static_cast<int>(tensors.size())});
  graph_.tensors_.insert(graph_.tensors_.end(), tensors.begin(), tensors.end());
  return id;
}

Result<Graph> GraphBuilder::Finish() && {
  if (status_.ok()) status_ = CheckWhole();
  if (!status_.ok()) return status_.WithContext(graph_.name_);
  return std::move(graph_);
}

void GraphBuilder::Fail(const std::string& sentence) { status_ = Status::InvalidInput(sentence); }

Status GraphBuilder::CheckWhole() const {
  std::vector<bool> used(graph_.nodes_.size(), false);
  for (const Node& node : graph_.nodes_) {
    for (NodeId input : node.inputs) used[input] = true;
  }
  used.back() = true;  // by whoever asked for the network's output
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused != used.end()) {
    const Node& node = graph_.nodes_[unused - used.begin()];
    return Status::InvalidInput(Naming(node.layer, node.name) +
                                "no other layer uses it, and it is not the last one");
  }
  const bool trainable = std::any_of(graph_.nodes_.begin(), graph_.nodes_.end(),
                                     [](const Node& node) { return IsWeighted(node.layer); });
  if (trainable) return Status::Ok();
  return Status::InvalidInput("there is no convolution or linear layer, so nothing to train");
}

}  // namespace weft::model
