// SPDX-License-Identifier: Apache-2.0
// SqueezeNet 1.1 as in torchvision: fire blocks, which squeeze the channels with a 1x1 convolution
// and expand them with a 1x1 and a 3x3 side by side. The classifier is a convolution too.
#include <string>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/model/zoo/models.h"

namespace weft::model {
namespace {

NodeId AddConvRelu(GraphBuilder& graph, const std::string& name, const Conv2d& conv, NodeId input) {
  const NodeId convolved = graph.Add(name, conv, {input});
  return graph.Add(name + "_activation", Relu{}, {convolved});
}

// Squeezes to `squeezed` channels, then expands to twice `expanded`.
NodeId AddFire(GraphBuilder& graph, int position, int squeezed, int expanded, NodeId input) {
  const std::string path = "features." + std::to_string(position) + ".";
  const NodeId x = AddConvRelu(graph, path + "squeeze", {.out_channels = squeezed}, input);
  const NodeId by_1x1 = AddConvRelu(graph, path + "expand1x1", {.out_channels = expanded}, x);
  const NodeId by_3x3 = AddConvRelu(graph, path + "expand3x3",
                                    {.out_channels = expanded, .kernel = 3, .padding = 1}, x);
  return graph.Add(path + "concat", Concat{}, {by_1x1, by_3x3});
}

}  // namespace

Result<Graph> BuildSqueezenet11(const ModelSpec& spec) {
  const MaxPool halve{.kernel = 3, .stride = 2, .ceil_mode = true};
  GraphBuilder graph(std::string(spec.name), spec.input);
  NodeId x = GraphBuilder::kInput;
  x = graph.Add("features.0", Conv2d{.out_channels = 64, .kernel = 3, .stride = 2}, {x});
  x = graph.Add("features.1", Relu{}, {x});
  x = graph.Add("features.2", halve, {x});
  x = AddFire(graph, 3, 16, 64, x);
  x = AddFire(graph, 4, 16, 64, x);
  x = graph.Add("features.5", halve, {x});
  x = AddFire(graph, 6, 32, 128, x);
  x = AddFire(graph, 7, 32, 128, x);
  x = graph.Add("features.8", halve, {x});
  x = AddFire(graph, 9, 48, 192, x);
  x = AddFire(graph, 10, 48, 192, x);
  x = AddFire(graph, 11, 64, 256, x);
  x = AddFire(graph, 12, 64, 256, x);
  x = graph.Add("classifier.0", Dropout{.probability = 0.5}, {x});
  x = graph.Add("classifier.1", Conv2d{.out_channels = spec.classes}, {x});
  x = graph.Add("classifier.2", Relu{}, {x});
  x = graph.Add("classifier.3", AdaptiveAvgPool{}, {x});
  graph.Add("flatten", Flatten{}, {x});
  return std::move(graph).Finish();
}

}  // namespace weft::model
