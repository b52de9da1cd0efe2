// SPDX-License-Identifier: Apache-2.0
#include "core/model/graph_builder.h"

#include <string>
#include <utility>

#include <CppUTest/TestHarness.h>

namespace weft::model {
namespace {

constexpr NodeId kInput = GraphBuilder::kInput;

std::string Complaint(GraphBuilder builder) {
  const Result<Graph> graph = std::move(builder).Finish();
  return graph.ok() ? "none" : graph.status().message();
}

}  // namespace

TEST_GROUP(GraphBuilder) { GraphBuilder builder{"net", {3, 8, 8}}; };

TEST(GraphBuilder, KeepsNodesTensorsShapesAndCosts) {
  const NodeId conv =
      builder.Add("conv", Conv2d{.out_channels = 4, .kernel = 3, .groups = 1}, {kInput});
  const NodeId norm = builder.Add("bn", BatchNorm{}, {conv});
  const NodeId flat = builder.Add("flatten", Flatten{}, {norm});
  const NodeId fc = builder.Add("fc", Linear{.out_features = 10, .bias = false}, {flat});
  const Graph graph = std::move(builder).Finish().value();

  LONGS_EQUAL(5, graph.nodes().size());
  STRCMP_EQUAL("[3, 8, 8]", graph.input_shape().ToString().c_str());
  STRCMP_EQUAL("[4, 6, 6]", graph.nodes()[norm].output.ToString().c_str());
  STRCMP_EQUAL("[10]", graph.output_shape().ToString().c_str());

  LONGS_EQUAL(8, graph.tensors().size());
  STRCMP_EQUAL("conv.weight", graph.TensorsOf(graph.nodes()[conv])[0].name.c_str());
  STRCMP_EQUAL("bn.running_var", graph.TensorsOf(graph.nodes()[norm])[3].name.c_str());
  CHECK(graph.TensorsOf(graph.nodes()[norm])[3].role == TensorRole::kRunningStatistic);
  CHECK(graph.TensorsOf(graph.nodes()[flat]).empty());
  STRCMP_EQUAL("[10, 144]", graph.TensorsOf(graph.nodes()[fc])[0].shape.ToString().c_str());

  LONGLONGS_EQUAL((4 * 27 + 4) + (4 + 4) + 1440, graph.parameter_count());
  LONGLONGS_EQUAL(36 * 4 * 27, graph.nodes()[conv].macs);
  LONGLONGS_EQUAL(36 * 4 * 27 + 1440, graph.macs());
}

TEST(GraphBuilder, CountsOnlyTheChannelsOfItsGroupForEachOutput) {
  builder.Add("dw", Conv2d{.out_channels = 6, .kernel = 3, .padding = 1, .groups = 3}, {kInput});
  const Graph graph = std::move(builder).Finish().value();
  STRCMP_EQUAL("[6, 1, 3, 3]", graph.tensors()[0].shape.ToString().c_str());
  LONGLONGS_EQUAL(6 * 9 * 64, graph.macs());
}

TEST(GraphBuilder, NamesTheConvolutionWhoseChannelsDoNotMatch) {
  builder.Add("stem", Conv2d{.in_channels = 4, .out_channels = 8}, {kInput});
  STRCMP_EQUAL("net: conv2d 'stem': takes 4 input channels but is given 3",
               Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, NamesTheLinearLayerThatIsGivenAnImage) {
  builder.Add("fc", Linear{.out_features = 10}, {kInput});
  STRCMP_EQUAL("net: linear 'fc': takes a vector but is given [3, 8, 8]",
               Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, NamesTheSumOfDifferentShapes) {
  const NodeId conv = builder.Add("conv", Conv2d{.out_channels = 8}, {kInput});
  builder.Add("sum", Add{}, {conv, kInput});
  STRCMP_EQUAL("net: add 'sum': cannot add [8, 8, 8] and [3, 8, 8]",
               Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, NamesTheConcatOfDifferentSizes) {
  const NodeId half = builder.Add("half", MaxPool{.kernel = 2, .stride = 2}, {kInput});
  builder.Add("cat", Concat{}, {kInput, half});
  STRCMP_EQUAL(
      "net: concat 'cat': cannot join [3, 8, 8] and [3, 4, 4], which differ in height or width",
      Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, TellsTheFirstMistakeOnly) {
  const NodeId bad = builder.Add("wide", Conv2d{.out_channels = 4, .kernel = 9}, {kInput});
  builder.Add("fc", Linear{.in_features = 1, .out_features = 10}, {bad});
  STRCMP_CONTAINS("net: conv2d 'wide': its kernel 9x9", Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, RefusesTwoLayersOfOneName) {
  const NodeId conv = builder.Add("conv", Conv2d{.out_channels = 4}, {kInput});
  builder.Add("conv", Relu{}, {conv});
  STRCMP_EQUAL("net: relu 'conv': every layer needs a name of its own",
               Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, RefusesInputsThatDoNotExistAndWrongNumbersOfThem) {
  GraphBuilder from_nowhere("net", {3, 8, 8});
  from_nowhere.Add("relu", Relu{}, {7});
  STRCMP_EQUAL("net: relu 'relu': its input, node 7, does not exist",
               Complaint(std::move(from_nowhere)).c_str());

  GraphBuilder lonely("net", {3, 8, 8});
  lonely.Add("sum", Add{}, {kInput});
  STRCMP_EQUAL("net: add 'sum': needs two or more inputs, not 1",
               Complaint(std::move(lonely)).c_str());

  GraphBuilder crowded("net", {3, 8, 8});
  crowded.Add("relu", Relu{}, {kInput, kInput});
  STRCMP_EQUAL("net: relu 'relu': takes one input, not 2", Complaint(std::move(crowded)).c_str());

  GraphBuilder second_input("net", {3, 8, 8});
  second_input.Add("image", Input{}, {kInput});
  STRCMP_CONTAINS("input 'image'", Complaint(std::move(second_input)).c_str());
}

TEST(GraphBuilder, RefusesALayerThatNothingUses) {
  builder.Add("loose", Relu{}, {kInput});
  builder.Add("conv", Conv2d{.out_channels = 4}, {kInput});
  STRCMP_EQUAL("net: relu 'loose': no other layer uses it, and it is not the last one",
               Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, RefusesANetworkWithNothingToTrain) {
  builder.Add("relu", Relu{}, {kInput});
  STRCMP_CONTAINS("nothing to train", Complaint(std::move(builder)).c_str());
}

TEST(GraphBuilder, RefusesAnInputThatIsNoImage) {
  STRCMP_EQUAL("net: an image is [C, H, W], not [3, 8]",
               Complaint(GraphBuilder("net", {3, 8})).c_str());
  STRCMP_CONTAINS("an image of 3x0x8", Complaint(GraphBuilder("net", {3, 0, 8})).c_str());
}

}  // namespace weft::model
