// SPDX-License-Identifier: Apache-2.0
// Parameters and multiply-adds are the peers' own (golden/write_golden.py prints them). lenet5 and
// resnet18-cifar, which the peers do not have, were counted after writing them in PyTorch.
#include "core/model/zoo.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include <CppUTest/TestHarness.h>

namespace weft::model {
namespace {

struct Size {
  const char* model;
  int64_t parameters;
  int64_t macs;
};

constexpr Size kSizes[] = {
    {"lenet5", 61'706, 416'520},
    {"resnet18-cifar", 11'173'962, 555'422'720},
    {"resnet18", 11'689'512, 1'814'073'344},
    {"resnet34", 21'797'672, 3'663'761'408},
    {"resnet50", 25'557'032, 4'089'184'256},
    {"resnet101", 44'549'160, 7'801'405'440},
    {"resnet152", 60'192'808, 11'513'626'624},
    {"vgg11", 132'863'336, 7'609'090'048},
    {"vgg16", 138'357'544, 15'470'264'320},
    {"vgg19", 143'667'240, 19'632'062'464},
    {"googlenet", 6'624'904, 1'498'376'192},
    {"inception_v4", 42'679'816, 12'253'974'624},
    {"mobilenet_v2", 3'504'872, 300'774'272},
    {"squeezenet1_1", 1'235'496, 349'151'936},
};

const Node& NodeNamed(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes()) {
    if (node.name == name) return node;
  }
  FAIL(("no node " + name).c_str());
  return graph.nodes()[0];
}

std::string TensorShape(const Graph& graph, const std::string& name) {
  for (const TensorSpec& tensor : graph.tensors()) {
    if (tensor.name == name) return tensor.shape.ToString();
  }
  return "no tensor " + name;
}

// The names of the nodes that `name` reads: "layer1.1.bn2 layer1.0.relu".
std::string InputsOf(const Graph& graph, const std::string& name) {
  std::string names;
  for (NodeId input : NodeNamed(graph, name).inputs) {
    names += (names.empty() ? "" : " ") + graph.nodes()[input].name;
  }
  return names;
}

}  // namespace

TEST_GROUP(Zoo){};

TEST(Zoo, HasAsManyParametersAsThePeers) {
  LONGS_EQUAL(Zoo().size(), std::size(kSizes));
  for (const Size& size : kSizes) {
    LONGLONGS_EQUAL_TEXT(size.parameters, BuildModel(size.model)->parameter_count(), size.model);
  }
}

TEST(Zoo, CountsAsManyMultiplyAddsAsThePeers) {
  for (const Size& size : kSizes) {
    LONGLONGS_EQUAL_TEXT(size.macs, BuildModel(size.model)->macs(), size.model);
  }
}

TEST(Zoo, AgreesWithTheBillionsOfMultiplyAddsThatTorchvisionPublishes) {
  const std::pair<const char*, double> published[] = {
      {"resnet18", 1.81},   {"resnet34", 3.66},     {"resnet50", 4.09},     {"resnet101", 7.80},
      {"resnet152", 11.51}, {"vgg11", 7.61},        {"vgg16", 15.47},       {"vgg19", 19.63},
      {"googlenet", 1.50},  {"mobilenet_v2", 0.30}, {"squeezenet1_1", 0.35}};
  for (const auto& [name, billions] : published) {
    // Half of the last digit that is published.
    DOUBLES_EQUAL_TEXT(billions, static_cast<double>(BuildModel(name)->macs()) / 1e9, 0.005, name);
  }
}

TEST(Zoo, AgreesWithTimmOnceBatchNormIsCountedToo) {
  const Graph graph = BuildModel("inception_v4").value();
  int64_t macs = graph.macs();
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<BatchNorm>(node.layer)) macs += 2 * node.output.elements();
  }
  DOUBLES_EQUAL(12.28, static_cast<double>(macs) / 1e9, 0.005);
}

TEST(Zoo, EndsInOneScoreForEachClass) {
  for (const ZooEntry& entry : Zoo()) {
    const Graph graph = BuildModel(entry.name).value();
    CHECK(graph.name() == entry.name);
    CHECK(graph.input_shape() == entry.input);
    CHECK(graph.output_shape() == Shape{entry.classes});
    CHECK(BuildModel(entry.name, {.classes = 7})->output_shape() == Shape{7});
  }
}

TEST(Zoo, TakesImagesOfOtherSizes) {
  const Graph vgg = BuildModel("vgg16", {.input = {3, 160, 192}}).value();
  STRCMP_EQUAL("[512, 5, 6]", NodeNamed(vgg, "features.30").output.ToString().c_str());
  LONGLONGS_EQUAL(138'357'544, vgg.parameter_count());
  const Graph gray = BuildModel("resnet18", {.input = {1, 64, 64}}).value();
  STRCMP_EQUAL("[64, 1, 7, 7]", TensorShape(gray, "conv1.weight").c_str());
}

TEST(Zoo, NamesTheLayerForWhichAnImageIsTooSmall) {
  const Result<Graph> graph = BuildModel("vgg11", {.input = {3, 16, 16}});
  CHECK(graph.status().code() == StatusCode::kInvalidInput);
  STRCMP_EQUAL(
      "vgg11: max_pool 'features.20': its kernel 2x2 with dilation 1x1 is larger than the "
      "input [512, 1, 1] padded by 0x0",
      graph.status().message().c_str());
}

TEST(Zoo, AnswersAnUnknownNameWithTheKnownOnes) {
  const Result<Graph> graph = BuildModel("resnet19");
  CHECK(graph.status().code() == StatusCode::kNotFound);
  STRCMP_EQUAL(
      "no model is called 'resnet19'; there are lenet5, resnet18-cifar, resnet18, "
      "resnet34, resnet50, resnet101, resnet152, vgg11, vgg16, vgg19, googlenet, "
      "inception_v4, mobilenet_v2, squeezenet1_1",
      graph.status().message().c_str());
}

TEST(Zoo, RefusesANegativeNumberOfClasses) {
  const Result<Graph> graph = BuildModel("lenet5", {.classes = -3});
  CHECK(graph.status().code() == StatusCode::kInvalidInput);
  STRCMP_EQUAL("lenet5 cannot tell -3 classes apart", graph.status().message().c_str());
}

TEST(Zoo, HalvesTheImageInTheMiddleOfABottleneck) {
  const Graph graph = BuildModel("resnet50").value();
  CHECK(std::get<Conv2d>(NodeNamed(graph, "layer2.0.conv1").layer).stride == Hw(1));
  CHECK(std::get<Conv2d>(NodeNamed(graph, "layer2.0.conv2").layer).stride == Hw(2));
}

TEST(Zoo, LeadsShortcutsAroundTheirBlocks) {
  const Graph resnet = BuildModel("resnet18").value();
  STRCMP_EQUAL("layer1.1.bn2 layer1.0.relu", InputsOf(resnet, "layer1.1.add").c_str());
  STRCMP_EQUAL("layer2.0.bn2 layer2.0.downsample.1", InputsOf(resnet, "layer2.0.add").c_str());
  STRCMP_EQUAL("layer1.1.relu", InputsOf(resnet, "layer2.0.downsample.0").c_str());
  const Graph mobilenet = BuildModel("mobilenet_v2").value();
  STRCMP_EQUAL("features.2.conv.3 features.3.conv.3",
               InputsOf(mobilenet, "features.3.add").c_str());
  STRCMP_EQUAL("features.3.add", InputsOf(mobilenet, "features.4.conv.0.0").c_str());
}

TEST(Zoo, StartsEveryBranchAtTheInputOfItsBlockAndJoinsThemInOrder) {
  const Graph googlenet = BuildModel("googlenet").value();
  for (const char* branch : {"branch1.conv", "branch2.0.conv", "branch3.0.conv", "branch4.0"}) {
    STRCMP_EQUAL("inception3a.concat",
                 InputsOf(googlenet, std::string("inception3b.") + branch).c_str());
  }
  STRCMP_EQUAL(
      "inception3b.branch1.relu inception3b.branch2.1.relu inception3b.branch3.1.relu "
      "inception3b.branch4.1.relu",
      InputsOf(googlenet, "inception3b.concat").c_str());
  const Graph v4 = BuildModel("inception_v4").value();
  for (const char* fork : {"branch2_3a.conv", "branch2_3b.conv"}) {
    STRCMP_EQUAL("features.20.branch2_2.relu",
                 InputsOf(v4, std::string("features.20.") + fork).c_str());
  }
  STRCMP_EQUAL("features.3.maxpool features.3.conv.relu",
               InputsOf(v4, "features.3.concat").c_str());
  STRCMP_EQUAL("features.5.conv.relu features.5.maxpool",
               InputsOf(v4, "features.5.concat").c_str());
}

TEST(Zoo, KeepsSmallImagesAtTheirSizeInTheCifarStem) {
  const Graph graph = BuildModel("resnet18-cifar").value();
  STRCMP_EQUAL("[64, 32, 32]", NodeNamed(graph, "layer1.1.relu").output.ToString().c_str());
  STRCMP_EQUAL("[64, 3, 3, 3]", TensorShape(graph, "conv1.weight").c_str());
}

TEST(Zoo, GivesTheInceptionNetworksTheirOwnEpsAndPools) {
  const Graph googlenet = BuildModel("googlenet").value();
  DOUBLES_EQUAL(1e-3, std::get<BatchNorm>(NodeNamed(googlenet, "conv1.bn").layer).eps, 0);
  CHECK(std::get<MaxPool>(NodeNamed(googlenet, "maxpool4").layer).ceil_mode);
  CHECK(std::get<MaxPool>(NodeNamed(googlenet, "maxpool4").layer).kernel == Hw(2));
  const Graph v4 = BuildModel("inception_v4").value();
  DOUBLES_EQUAL(1e-3, std::get<BatchNorm>(NodeNamed(v4, "features.0.bn").layer).eps, 0);
  CHECK(!std::get<AvgPool>(NodeNamed(v4, "features.6.branch3.0").layer).count_include_pad);
  STRCMP_EQUAL("[1536, 8, 8]", NodeNamed(v4, "features.21.concat").output.ToString().c_str());
}

TEST(Zoo, DropsWithThePeersProbabilities) {
  const auto probability = [](const char* model, const char* node) {
    const Graph graph = BuildModel(model).value();
    return std::get<Dropout>(NodeNamed(graph, node).layer).probability;
  };
  DOUBLES_EQUAL(0.5, probability("vgg19", "classifier.5"), 0);
  DOUBLES_EQUAL(0.2, probability("googlenet", "dropout"), 0);
  DOUBLES_EQUAL(0.2, probability("mobilenet_v2", "classifier.0"), 0);
  DOUBLES_EQUAL(0.5, probability("squeezenet1_1", "classifier.0"), 0);
}

}  // namespace weft::model
