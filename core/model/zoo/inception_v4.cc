// SPDX-License-Identifier: Apache-2.0
// Inception-v4 as in timm. Three grid sizes, each reached by a reduction and then refined by a run
// of equal blocks; large kernels are split into a row and a column.
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/model/graph_builder.h"
#include "core/model/zoo/conv_norm.h"
#include "core/model/zoo/models.h"

namespace weft::model {
namespace {

// Convolutions by kernel, height first. Those that keep the image's size are "same"; a plain 3x3
// trims one cell off each side.
Conv2d Conv1x1(int channels) { return {.out_channels = channels}; }
Conv2d Conv3x3(int channels) { return {.out_channels = channels, .kernel = 3}; }
Conv2d Conv3x3Half(int channels) { return {.out_channels = channels, .kernel = 3, .stride = 2}; }
Conv2d Conv3x3Same(int channels) { return {.out_channels = channels, .kernel = 3, .padding = 1}; }
Conv2d Row(int channels, int length) {
  return {.out_channels = channels, .kernel = {1, length}, .padding = {0, length / 2}};
}
Conv2d Column(int channels, int length) {
  return {.out_channels = channels, .kernel = {length, 1}, .padding = {length / 2, 0}};
}

constexpr MaxPool kHalve = {.kernel = 3, .stride = 2};

// One block, features.<n>: what its branches have in common.
class Block {
 public:
  Block(GraphBuilder& graph, int position, NodeId input)
      : graph_(graph), path_("features." + std::to_string(position) + "."), input_(input) {}

  NodeId input() const { return input_; }

  NodeId Conv(const std::string& name, const Conv2d& conv, NodeId x) {
    return AddInceptionConv(graph_, path_ + name, conv, x);
  }

  // Convolutions one behind the other, <name>.0 and on.
  NodeId Chain(const std::string& name, std::initializer_list<Conv2d> convs, NodeId x) {
    int position = 0;
    for (const Conv2d& conv : convs) x = Conv(name + "." + std::to_string(position++), conv, x);
    return x;
  }

  NodeId HalvingPool(const std::string& name) { return graph_.Add(path_ + name, kHalve, {input_}); }

  NodeId AveragedConv1x1(const std::string& name, int channels) {
    const AvgPool average{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false};
    const NodeId averaged = graph_.Add(path_ + name + ".0", average, {input_});
    return Conv(name + ".1", Conv1x1(channels), averaged);
  }

  NodeId Join(std::vector<NodeId> branches, const std::string& name = "concat") {
    return graph_.Add(path_ + name, Concat{}, std::move(branches));
  }

 private:
  GraphBuilder& graph_;
  std::string path_;
  NodeId input_;
};

NodeId AddMixed3a(Block block) {
  const NodeId pooled = block.HalvingPool("maxpool");
  const NodeId convolved = block.Conv("conv", Conv3x3Half(96), block.input());
  return block.Join({pooled, convolved});
}

NodeId AddMixed4a(Block block) {
  const NodeId x = block.input();
  const NodeId b0 = block.Chain("branch0", {Conv1x1(64), Conv3x3(96)}, x);
  const NodeId b1 =
      block.Chain("branch1", {Conv1x1(64), Row(64, 7), Column(64, 7), Conv3x3(96)}, x);
  return block.Join({b0, b1});
}

NodeId AddMixed5a(Block block) {
  const NodeId convolved = block.Conv("conv", Conv3x3Half(192), block.input());
  const NodeId pooled = block.HalvingPool("maxpool");
  return block.Join({convolved, pooled});
}

NodeId AddInceptionA(Block block) {
  const NodeId x = block.input();
  const NodeId b0 = block.Conv("branch0", Conv1x1(96), x);
  const NodeId b1 = block.Chain("branch1", {Conv1x1(64), Conv3x3Same(96)}, x);
  const NodeId b2 = block.Chain("branch2", {Conv1x1(64), Conv3x3Same(96), Conv3x3Same(96)}, x);
  const NodeId b3 = block.AveragedConv1x1("branch3", 96);
  return block.Join({b0, b1, b2, b3});
}

NodeId AddReductionA(Block block) {
  const NodeId x = block.input();
  const NodeId b0 = block.Conv("branch0", Conv3x3Half(384), x);
  const NodeId b1 = block.Chain("branch1", {Conv1x1(192), Conv3x3Same(224), Conv3x3Half(256)}, x);
  const NodeId b2 = block.HalvingPool("branch2");
  return block.Join({b0, b1, b2});
}

NodeId AddInceptionB(Block block) {
  const NodeId x = block.input();
  const NodeId b0 = block.Conv("branch0", Conv1x1(384), x);
  const NodeId b1 = block.Chain("branch1", {Conv1x1(192), Row(224, 7), Column(256, 7)}, x);
  const NodeId b2 = block.Chain(
      "branch2", {Conv1x1(192), Column(192, 7), Row(224, 7), Column(224, 7), Row(256, 7)}, x);
  const NodeId b3 = block.AveragedConv1x1("branch3", 128);
  return block.Join({b0, b1, b2, b3});
}

NodeId AddReductionB(Block block) {
  const NodeId x = block.input();
  const NodeId b0 = block.Chain("branch0", {Conv1x1(192), Conv3x3Half(192)}, x);
  const NodeId b1 =
      block.Chain("branch1", {Conv1x1(256), Row(256, 7), Column(320, 7), Conv3x3Half(320)}, x);
  const NodeId b2 = block.HalvingPool("branch2");
  return block.Join({b0, b1, b2});
}

NodeId AddInceptionC(Block block) {
  const NodeId x = block.input();
  const NodeId b0 = block.Conv("branch0", Conv1x1(256), x);

  const NodeId b1_0 = block.Conv("branch1_0", Conv1x1(384), x);
  const NodeId b1_1a = block.Conv("branch1_1a", Row(256, 3), b1_0);
  const NodeId b1_1b = block.Conv("branch1_1b", Column(256, 3), b1_0);
  const NodeId b1 = block.Join({b1_1a, b1_1b}, "branch1_concat");

  const NodeId b2_0 = block.Conv("branch2_0", Conv1x1(384), x);
  const NodeId b2_1 = block.Conv("branch2_1", Column(448, 3), b2_0);
  const NodeId b2_2 = block.Conv("branch2_2", Row(512, 3), b2_1);
  const NodeId b2_3a = block.Conv("branch2_3a", Row(256, 3), b2_2);
  const NodeId b2_3b = block.Conv("branch2_3b", Column(256, 3), b2_2);
  const NodeId b2 = block.Join({b2_3a, b2_3b}, "branch2_concat");

  const NodeId b3 = block.AveragedConv1x1("branch3", 256);
  return block.Join({b0, b1, b2, b3});
}

}  // namespace

Result<Graph> BuildInceptionV4(const ModelSpec& spec) {
  GraphBuilder graph(std::string(spec.name), spec.input);
  NodeId x = GraphBuilder::kInput;
  x = AddInceptionConv(graph, "features.0", Conv3x3Half(32), x);
  x = AddInceptionConv(graph, "features.1", Conv3x3(32), x);
  x = AddInceptionConv(graph, "features.2", Conv3x3Same(64), x);
  int position = 3;
  const auto repeat = [&](NodeId (*add_block)(Block), int times) {
    for (int i = 0; i < times; ++i) x = add_block(Block(graph, position++, x));
  };
  repeat(AddMixed3a, 1);
  repeat(AddMixed4a, 1);
  repeat(AddMixed5a, 1);
  repeat(AddInceptionA, 4);
  repeat(AddReductionA, 1);
  repeat(AddInceptionB, 7);
  repeat(AddReductionB, 1);
  repeat(AddInceptionC, 3);
  x = graph.Add("global_pool.pool", AdaptiveAvgPool{}, {x});
  x = graph.Add("global_pool.flatten", Flatten{}, {x});
  graph.Add("last_linear", Linear{.out_features = spec.classes}, {x});
  return std::move(graph).Finish();
}

}  // namespace weft::model
