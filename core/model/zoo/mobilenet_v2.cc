// SPDX-License-Identifier: Apache-2.0
// MobileNetV2 as in torchvision, width 1.0: inverted residuals, which widen with a 1x1 convolution,
// filter each channel by itself, and narrow again without an activation.
#include <string>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/model/zoo/conv_norm.h"
#include "core/model/zoo/models.h"

namespace weft::model {
namespace {

// <path>.0 convolution, <path>.1 normalisation, <path>.2 ReLU6.
NodeId AddConvNormRelu6(GraphBuilder& graph, const std::string& path, const Conv2d& conv,
                        NodeId input) {
  const NodeId normed = AddConvNorm(graph, path + ".0", path + ".1", conv, input);
  return graph.Add(path + ".2", Relu6{}, {normed});
}

struct InvertedResidual {
  int in_channels;
  int expansion;
  int out_channels;
  int stride;
};

NodeId AddInvertedResidual(GraphBuilder& graph, const std::string& path,
                           const InvertedResidual& block, NodeId input) {
  const int hidden = block.in_channels * block.expansion;
  int position = 0;
  const auto next = [&] { return path + ".conv." + std::to_string(position++); };

  NodeId x = input;
  if (block.expansion != 1) x = AddConvNormRelu6(graph, next(), {.out_channels = hidden}, x);
  const Conv2d depthwise{
      .out_channels = hidden, .kernel = 3, .stride = block.stride, .padding = 1, .groups = hidden};
  x = AddConvNormRelu6(graph, next(), depthwise, x);
  const std::string narrow_name = next();
  const std::string norm_name = next();
  x = AddConvNorm(graph, narrow_name, norm_name, {.out_channels = block.out_channels}, x);
  if (block.stride != 1 || block.in_channels != block.out_channels) return x;
  return graph.Add(path + ".add", Add{}, {input, x});
}

}  // namespace

Result<Graph> BuildMobilenetV2(const ModelSpec& spec) {
  struct Stage {
    int expansion, channels, blocks, first_stride;
  };
  static constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                      {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  GraphBuilder graph(std::string(spec.name), spec.input);
  int position = 0;
  const auto next_feature = [&] { return "features." + std::to_string(position++); };

  int channels = 32;
  NodeId x = AddConvNormRelu6(graph, next_feature(),
                              {.out_channels = channels, .kernel = 3, .stride = 2, .padding = 1},
                              GraphBuilder::kInput);
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.blocks; ++i) {
      const int stride = i == 0 ? stage.first_stride : 1;
      x = AddInvertedResidual(graph, next_feature(),
                              {channels, stage.expansion, stage.channels, stride}, x);
      channels = stage.channels;
    }
  }
  x = AddConvNormRelu6(graph, next_feature(), {.out_channels = 1280}, x);
  x = graph.Add("avgpool", AdaptiveAvgPool{}, {x});
  x = graph.Add("flatten", Flatten{}, {x});
  x = graph.Add("classifier.0", Dropout{.probability = 0.2}, {x});
  graph.Add("classifier.1", Linear{.out_features = spec.classes}, {x});
  return std::move(graph).Finish();
}

}  // namespace weft::model
