// SPDX-License-Identifier: Apache-2.0
// Residual networks as in torchvision (v1.5: a bottleneck halves the image in its 3x3 layer), and
// the CIFAR form of resnet18, whose stem keeps small images at their size.
#include <array>
#include <string>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/model/zoo/conv_norm.h"
#include "core/model/zoo/models.h"

namespace weft::model {
namespace {

enum class Stem { kImageNet, kCifar };

struct Block {
  std::string path;  // "layer1.0."
  int width;         // channels of its 3x3 convolutions
  int stride;
  bool projects;  // its shortcut must change the shape, so it has weights
};

struct BlockKind {
  int expansion;  // output channels are width * expansion
  NodeId (*add_body)(GraphBuilder& graph, const Block& block, NodeId input);
};

NodeId AddBasicBody(GraphBuilder& graph, const Block& block, NodeId input) {
  const std::string& path = block.path;
  const Conv2d conv3x3{.out_channels = block.width, .kernel = 3, .padding = 1};
  Conv2d strided = conv3x3;
  strided.stride = block.stride;
  NodeId x = AddConvNorm(graph, path + "conv1", path + "bn1", strided, input);
  x = graph.Add(path + "relu1", Relu{}, {x});
  return AddConvNorm(graph, path + "conv2", path + "bn2", conv3x3, x);
}

NodeId AddBottleneckBody(GraphBuilder& graph, const Block& block, NodeId input) {
  const std::string& path = block.path;
  const Conv2d conv3x3{
      .out_channels = block.width, .kernel = 3, .stride = block.stride, .padding = 1};
  NodeId x = AddConvNorm(graph, path + "conv1", path + "bn1", {.out_channels = block.width}, input);
  x = graph.Add(path + "relu1", Relu{}, {x});
  x = AddConvNorm(graph, path + "conv2", path + "bn2", conv3x3, x);
  x = graph.Add(path + "relu2", Relu{}, {x});
  return AddConvNorm(graph, path + "conv3", path + "bn3", {.out_channels = block.width * 4}, x);
}

constexpr BlockKind kBasic = {1, AddBasicBody};
constexpr BlockKind kBottleneck = {4, AddBottleneckBody};

NodeId AddBlock(GraphBuilder& graph, const BlockKind& kind, const Block& block, NodeId input) {
  const NodeId body = kind.add_body(graph, block, input);
  NodeId shortcut = input;
  if (block.projects) {
    shortcut =
        AddConvNorm(graph, block.path + "downsample.0", block.path + "downsample.1",
                    {.out_channels = block.width * kind.expansion, .stride = block.stride}, input);
  }
  const NodeId sum = graph.Add(block.path + "add", Add{}, {body, shortcut});
  return graph.Add(block.path + "relu", Relu{}, {sum});
}

NodeId AddStem(GraphBuilder& graph, Stem stem) {
  const Conv2d conv = stem == Stem::kCifar
                          ? Conv2d{.out_channels = 64, .kernel = 3, .padding = 1}
                          : Conv2d{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3};
  NodeId x = AddConvNorm(graph, "conv1", "bn1", conv, GraphBuilder::kInput);
  x = graph.Add("relu", Relu{}, {x});
  if (stem == Stem::kCifar) return x;
  return graph.Add("maxpool", MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {x});
}

Result<Graph> BuildResnet(const ModelSpec& spec, const BlockKind& kind,
                          const std::array<int, 4>& blocks_in_stage, Stem stem) {
  GraphBuilder graph(std::string(spec.name), spec.input);
  NodeId x = AddStem(graph, stem);
  int channels = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    for (int i = 0; i < blocks_in_stage[stage]; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      const bool projects = stride != 1 || channels != width * kind.expansion;
      const std::string path = "layer" + std::to_string(stage + 1) + "." + std::to_string(i) + ".";
      x = AddBlock(graph, kind, {path, width, stride, projects}, x);
      channels = width * kind.expansion;
    }
  }
  x = graph.Add("avgpool", AdaptiveAvgPool{}, {x});
  x = graph.Add("flatten", Flatten{}, {x});
  graph.Add("fc", Linear{.out_features = spec.classes}, {x});
  return std::move(graph).Finish();
}

}  // namespace

Result<Graph> BuildResnet18Cifar(const ModelSpec& spec) {
  return BuildResnet(spec, kBasic, {2, 2, 2, 2}, Stem::kCifar);
}

Result<Graph> BuildResnet18(const ModelSpec& spec) {
  return BuildResnet(spec, kBasic, {2, 2, 2, 2}, Stem::kImageNet);
}

Result<Graph> BuildResnet34(const ModelSpec& spec) {
  return BuildResnet(spec, kBasic, {3, 4, 6, 3}, Stem::kImageNet);
}

Result<Graph> BuildResnet50(const ModelSpec& spec) {
  return BuildResnet(spec, kBottleneck, {3, 4, 6, 3}, Stem::kImageNet);
}

Result<Graph> BuildResnet101(const ModelSpec& spec) {
  return BuildResnet(spec, kBottleneck, {3, 4, 23, 3}, Stem::kImageNet);
}

Result<Graph> BuildResnet152(const ModelSpec& spec) {
  return BuildResnet(spec, kBottleneck, {3, 8, 36, 3}, Stem::kImageNet);
}

}  // namespace weft::model
