// SPDX-License-Identifier: Apache-2.0
#include "core/model/units.h"

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/graph_builder.h"
#include "core/model/zoo.h"

#include <CppUTest/TestHarness.h>

namespace weft::model {
namespace {

std::vector<std::string> NodeNames(const Graph& graph, const Unit& unit) {
  std::vector<std::string> names;
  for (NodeId id : unit.nodes) names.push_back(graph.nodes()[id].name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_GROUP(Units) {
  GraphBuilder builder{"net", {4, 8, 8}};
  const Conv2d same_shape{.out_channels = 4, .kernel = 3, .padding = 1};
};

TEST(Units, HoldWhatComesBeforeTheirWeightsAndTheLastOneAlsoWhatComesAfter) {
  NodeId x = builder.Add("conv1", same_shape, {GraphBuilder::kInput});
  x = builder.Add("bn1", BatchNorm{}, {x});
  x = builder.Add("relu1", Relu{}, {x});
  x = builder.Add("pool", MaxPool{.kernel = 2, .stride = 2}, {x});
  x = builder.Add("conv2", same_shape, {x});
  x = builder.Add("relu2", Relu{}, {x});
  builder.Add("flatten", Flatten{}, {x});
  const Graph graph = std::move(builder).Finish().value();
  const std::vector<Unit> units = CutIntoUnits(graph);

  LONGS_EQUAL(2, units.size());
  STRCMP_EQUAL("conv1", units[0].name.c_str());
  STRCMP_EQUAL("conv2", units[1].name.c_str());
  CHECK(NodeNames(graph, units[0]) == (Names{"input", "conv1", "bn1"}));
  CHECK(NodeNames(graph, units[1]) == (Names{"relu1", "pool", "conv2", "relu2", "flatten"}));
}

TEST(Units, ShareOneDepthAcrossBranches) {
  NodeId deep = builder.Add("block.deep.0", same_shape, {GraphBuilder::kInput});
  deep = builder.Add("block.deep.1", same_shape, {deep});
  const NodeId shallow = builder.Add("block.shallow", same_shape, {GraphBuilder::kInput});
  const NodeId sum = builder.Add("block.add", Add{}, {deep, shallow});
  builder.Add("head", same_shape, {sum});
  const Graph graph = std::move(builder).Finish().value();
  const std::vector<Unit> units = CutIntoUnits(graph);

  LONGS_EQUAL(3, units.size());
  STRCMP_EQUAL("block.*@1", units[0].name.c_str());
  CHECK(NodeNames(graph, units[0]) == (Names{"input", "block.deep.0", "block.shallow"}));
  LONGLONGS_EQUAL(2 * (4 * 4 * 9) * 64, units[0].macs);
  STRCMP_EQUAL("block.deep.1", units[1].name.c_str());
  CHECK(NodeNames(graph, units[2]) == (Names{"block.add", "head"}));
}

TEST(Units, KeepRunningStatisticsApartFromWhatTravels) {
  const NodeId conv =
      builder.Add("conv", Conv2d{.out_channels = 4, .bias = false}, {GraphBuilder::kInput});
  builder.Add("bn", BatchNorm{}, {conv});
  const Graph graph = std::move(builder).Finish().value();
  const std::vector<Unit> units = CutIntoUnits(graph);

  LONGS_EQUAL(1, units.size());
  LONGS_EQUAL(3, units[0].parameters.size());
  LONGLONGS_EQUAL(4 * (16 + 4 + 4), units[0].bytes);
  LONGS_EQUAL(3, units[0].buffers.size());
  LONGLONGS_EQUAL(4 * (4 + 4) + 8, units[0].buffer_bytes);
}

TEST(Units, LetANormalisationBeforeItsConvolutionJoinTheNextUnit) {
  NodeId x = builder.Add("conv1", same_shape, {GraphBuilder::kInput});
  x = builder.Add("relu", Relu{}, {x});
  x = builder.Add("bn", BatchNorm{}, {x});
  builder.Add("conv2", same_shape, {x});
  const Graph graph = std::move(builder).Finish().value();
  const std::vector<Unit> units = CutIntoUnits(graph);

  LONGS_EQUAL(2, units.size());
  CHECK(NodeNames(graph, units[1]) == (Names{"relu", "bn", "conv2"}));
}

TEST(Units, PutAProjectingShortcutWithTheFirstLayerOfItsBlock) {
  const Graph graph = BuildModel("resnet50").value();
  const std::vector<Unit> units = CutIntoUnits(graph);
  STRCMP_EQUAL("layer1.0.*@2", units[1].name.c_str());
  CHECK(NodeNames(graph, units[1]) == (Names{"relu", "maxpool", "layer1.0.conv1", "layer1.0.bn1",
                                             "layer1.0.downsample.0", "layer1.0.downsample.1"}));
}

TEST(Units, OfABlockAreCalledByTheBlockAndTheDepth) {
  const std::vector<Unit> units = CutIntoUnits(BuildModel("googlenet").value());
  STRCMP_EQUAL("conv3.conv", units[2].name.c_str());
  STRCMP_EQUAL("inception3a.*@4", units[3].name.c_str());
  STRCMP_EQUAL("inception3a.*@5", units[4].name.c_str());
}

TEST(Units, AreAsManyAsTheModelIsDeep) {
  const std::pair<const char*, int> depths[] = {
      {"lenet5", 5},        {"resnet18-cifar", 18}, {"resnet18", 18},   {"resnet34", 34},
      {"resnet50", 50},     {"resnet101", 101},     {"resnet152", 152}, {"vgg11", 11},
      {"vgg16", 16},        {"vgg19", 19},          {"googlenet", 22},  {"inception_v4", 76},
      {"mobilenet_v2", 53}, {"squeezenet1_1", 18}};
  LONGS_EQUAL(Zoo().size(), std::size(depths));
  for (const auto& [name, depth] : depths) {
    LONGS_EQUAL_TEXT(depth, CutIntoUnits(BuildModel(name).value()).size(), name);
  }
}

TEST(Units, CoverEveryNodeAndTensorOfEveryModelOnceInAnOrderThatRuns) {
  for (const ZooEntry& entry : Zoo()) {
    const Graph graph = BuildModel(entry.name).value();
    std::vector<bool> has_run(graph.nodes().size(), false);
    std::vector<int> tensor_uses(graph.tensors().size(), 0);
    std::set<std::string> names;
    int64_t bytes = 0;
    int64_t macs = 0;
    for (const Unit& unit : CutIntoUnits(graph)) {
      CHECK(names.insert(unit.name).second);
      for (NodeId id : unit.nodes) {
        for (NodeId input : graph.nodes()[id].inputs) CHECK(has_run[input]);
        CHECK(!has_run[id]);
        has_run[id] = true;
      }
      for (TensorId id : unit.parameters) {
        CHECK(graph.tensors()[id].role == TensorRole::kParameter);
        ++tensor_uses[id];
      }
      for (TensorId id : unit.buffers) {
        CHECK(graph.tensors()[id].role != TensorRole::kParameter);
        ++tensor_uses[id];
      }
      CHECK(!unit.parameters.empty());
      bytes += unit.bytes;
      macs += unit.macs;
    }
    CHECK(has_run == std::vector<bool>(graph.nodes().size(), true));
    CHECK(tensor_uses == std::vector<int>(graph.tensors().size(), 1));
    LONGLONGS_EQUAL(4 * graph.parameter_count(), bytes);
    LONGLONGS_EQUAL(graph.macs(), macs);
  }
}

}  // namespace weft::model
