// SPDX-License-Identifier: Apache-2.0
// GoogLeNet (Inception v1) as in torchvision without its auxiliary heads: batch-normalised, and
// with 3x3 kernels in the branch that has 5x5 in the paper, as its published weights have them.
#include <string>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/model/zoo/conv_norm.h"
#include "core/model/zoo/models.h"

namespace weft::model {
namespace {

// Output channels of each convolution of a block, in the order of the paper's table.
struct Widths {
  int b1;             // branch 1: 1x1
  int b2_reduce, b2;  // branch 2: 1x1, then 3x3
  int b3_reduce, b3;  // branch 3: 1x1, then 3x3
  int b4_after_pool;  // branch 4: pool, then 1x1
};

NodeId AddInception(GraphBuilder& graph, const std::string& name, const Widths& widths,
                    NodeId input) {
  const auto conv = [&](const std::string& branch, const Conv2d& layer, NodeId x) {
    return AddInceptionConv(graph, name + "." + branch, layer, x);
  };
  const auto conv3x3 = [](int channels) {
    return Conv2d{.out_channels = channels, .kernel = 3, .padding = 1};
  };
  const NodeId b1 = conv("branch1", {.out_channels = widths.b1}, input);
  NodeId b2 = conv("branch2.0", {.out_channels = widths.b2_reduce}, input);
  b2 = conv("branch2.1", conv3x3(widths.b2), b2);
  NodeId b3 = conv("branch3.0", {.out_channels = widths.b3_reduce}, input);
  b3 = conv("branch3.1", conv3x3(widths.b3), b3);
  NodeId b4 =
      graph.Add(name + ".branch4.0",
                MaxPool{.kernel = 3, .stride = 1, .padding = 1, .ceil_mode = true}, {input});
  b4 = conv("branch4.1", {.out_channels = widths.b4_after_pool}, b4);
  return graph.Add(name + ".concat", Concat{}, {b1, b2, b3, b4});
}

}  // namespace

Result<Graph> BuildGooglenet(const ModelSpec& spec) {
  GraphBuilder graph(std::string(spec.name), spec.input);
  const MaxPool halve{.kernel = 3, .stride = 2, .ceil_mode = true};
  NodeId x = GraphBuilder::kInput;
  x = AddInceptionConv(graph, "conv1", {.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3},
                       x);
  x = graph.Add("maxpool1", halve, {x});
  x = AddInceptionConv(graph, "conv2", {.out_channels = 64}, x);
  x = AddInceptionConv(graph, "conv3", {.out_channels = 192, .kernel = 3, .padding = 1}, x);
  x = graph.Add("maxpool2", halve, {x});
  x = AddInception(graph, "inception3a", {64, 96, 128, 16, 32, 32}, x);
  x = AddInception(graph, "inception3b", {128, 128, 192, 32, 96, 64}, x);
  x = graph.Add("maxpool3", halve, {x});
  x = AddInception(graph, "inception4a", {192, 96, 208, 16, 48, 64}, x);
  x = AddInception(graph, "inception4b", {160, 112, 224, 24, 64, 64}, x);
  x = AddInception(graph, "inception4c", {128, 128, 256, 24, 64, 64}, x);
  x = AddInception(graph, "inception4d", {112, 144, 288, 32, 64, 64}, x);
  x = AddInception(graph, "inception4e", {256, 160, 320, 32, 128, 128}, x);
  x = graph.Add("maxpool4", MaxPool{.kernel = 2, .stride = 2, .ceil_mode = true}, {x});
  x = AddInception(graph, "inception5a", {256, 160, 320, 32, 128, 128}, x);
  x = AddInception(graph, "inception5b", {384, 192, 384, 48, 128, 128}, x);
  x = graph.Add("avgpool", AdaptiveAvgPool{}, {x});
  x = graph.Add("flatten", Flatten{}, {x});
  x = graph.Add("dropout", Dropout{.probability = 0.2}, {x});
  graph.Add("fc", Linear{.out_features = spec.classes}, {x});
  return std::move(graph).Finish();
}

}  // namespace weft::model
