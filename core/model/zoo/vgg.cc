// SPDX-License-Identifier: Apache-2.0
// The VGG networks as in torchvision, without batch normalisation: stages of 3x3 convolutions,
// each closed by a pooling that halves the image, and three linear layers.
#include <array>
#include <string>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/model/zoo/models.h"

namespace weft::model {
namespace {

Result<Graph> BuildVgg(const ModelSpec& spec, const std::array<int, 5>& convs_in_stage) {
  static constexpr std::array<int, 5> kWidths = {64, 128, 256, 512, 512};
  GraphBuilder graph(std::string(spec.name), spec.input);
  NodeId x = GraphBuilder::kInput;
  // As in PyTorch's Sequential, every layer takes a number, with or without weights.
  int position = 0;
  const auto next_feature = [&] { return "features." + std::to_string(position++); };
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < convs_in_stage[stage]; ++i) {
      const Conv2d conv{.out_channels = kWidths[stage], .kernel = 3, .padding = 1};
      x = graph.Add(next_feature(), conv, {x});
      x = graph.Add(next_feature(), Relu{}, {x});
    }
    x = graph.Add(next_feature(), MaxPool{.kernel = 2, .stride = 2}, {x});
  }
  x = graph.Add("avgpool", AdaptiveAvgPool{.output = 7}, {x});
  x = graph.Add("flatten", Flatten{}, {x});
  x = graph.Add("classifier.0", Linear{.out_features = 4096}, {x});
  x = graph.Add("classifier.1", Relu{}, {x});
  x = graph.Add("classifier.2", Dropout{.probability = 0.5}, {x});
  x = graph.Add("classifier.3", Linear{.out_features = 4096}, {x});
  x = graph.Add("classifier.4", Relu{}, {x});
  x = graph.Add("classifier.5", Dropout{.probability = 0.5}, {x});
  graph.Add("classifier.6", Linear{.out_features = spec.classes}, {x});
  return std::move(graph).Finish();
}

}  // namespace

Result<Graph> BuildVgg11(const ModelSpec& spec) { return BuildVgg(spec, {1, 1, 2, 2, 2}); }

Result<Graph> BuildVgg16(const ModelSpec& spec) { return BuildVgg(spec, {2, 2, 3, 3, 3}); }

Result<Graph> BuildVgg19(const ModelSpec& spec) { return BuildVgg(spec, {2, 2, 4, 4, 4}); }

}  // namespace weft::model
