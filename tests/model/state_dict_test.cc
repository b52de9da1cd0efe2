// SPDX-License-Identifier: Apache-2.0
// Tensor names, shapes and order against the state_dict() of torchvision's and timm's models, which
// golden/write_golden.py wrote down. Compiled in, so that the suite also runs where the sources
// are not.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/model/zoo.h"

#include <CppUTest/TestHarness.h>

namespace weft::model {
namespace {

struct Golden {
  const char* model;
  const char* state_dict;
};

constexpr Golden kGolden[] = {
    // clang-format off
    {"resnet18",
#include "tests/model/golden/resnet18.inc"
    },
    {"resnet34",
#include "tests/model/golden/resnet34.inc"
    },
    {"resnet50",
#include "tests/model/golden/resnet50.inc"
    },
    {"resnet101",
#include "tests/model/golden/resnet101.inc"
    },
    {"resnet152",
#include "tests/model/golden/resnet152.inc"
    },
    {"vgg11",
#include "tests/model/golden/vgg11.inc"
    },
    {"vgg16",
#include "tests/model/golden/vgg16.inc"
    },
    {"vgg19",
#include "tests/model/golden/vgg19.inc"
    },
    {"googlenet",
#include "tests/model/golden/googlenet.inc"
    },
    {"inception_v4",
#include "tests/model/golden/inception_v4.inc"
    },
    {"mobilenet_v2",
#include "tests/model/golden/mobilenet_v2.inc"
    },
    {"squeezenet1_1",
#include "tests/model/golden/squeezenet1_1.inc"
    },
    // clang-format on
};

// One line for each layer that has tensors: "bn1: weight [64]; bias [64]; ...".
std::string StateDict(const Graph& graph) {
  std::string text = "\n";
  for (const Node& node : graph.nodes()) {
    const char* separator = ": ";
    for (const TensorSpec& tensor : graph.TensorsOf(node)) {
      if (separator[0] == ':') text += node.name;
      const std::string leaf = tensor.name.substr(node.name.size() + 1);
      text += separator + leaf + " " + tensor.shape.ToString();
      separator = "; ";
    }
    if (node.tensor_count > 0) text += "\n";
  }
  return text;
}

}  // namespace

TEST_GROUP(StateDict){};

TEST(StateDict, HasThePeersNamesAndShapesInThePeersOrder) {
  for (const Golden& golden : kGolden) {
    STRCMP_EQUAL_TEXT(golden.state_dict, StateDict(BuildModel(golden.model).value()).c_str(),
                      golden.model);
  }
}

TEST(StateDict, OfTheCifarNetworkDiffersFromResnet18InItsStemAndClassifierOnly) {
  const Graph cifar = BuildModel("resnet18-cifar").value();
  const Graph resnet18 = BuildModel("resnet18").value();
  LONGS_EQUAL(resnet18.tensors().size(), cifar.tensors().size());
  for (size_t i = 0; i < cifar.tensors().size(); ++i) {
    const TensorSpec& tensor = cifar.tensors()[i];
    STRCMP_EQUAL(resnet18.tensors()[i].name.c_str(), tensor.name.c_str());
    const bool may_differ = tensor.name == "conv1.weight" || tensor.name.starts_with("fc.");
    CHECK(may_differ || tensor == resnet18.tensors()[i]);
  }
}

TEST(StateDict, OfLenet5IsFiveWeightsAndFiveBiases) {
  STRCMP_EQUAL(R"(
conv1: weight [6, 1, 5, 5]; bias [6]
conv2: weight [16, 6, 5, 5]; bias [16]
fc1: weight [120, 400]; bias [120]
fc2: weight [84, 120]; bias [84]
fc3: weight [10, 84]; bias [10]
)",
               StateDict(BuildModel("lenet5").value()).c_str());
}

TEST(StateDict, CountsRunningStatisticsAsBuffersAndBatchCountersAsWholeNumbers) {
  const Graph graph = BuildModel("resnet18").value();
  int64_t buffer_elements = 0;
  for (const TensorSpec& tensor : graph.tensors()) {
    if (tensor.role != TensorRole::kParameter) buffer_elements += tensor.shape.elements();
    const bool counter = tensor.name.ends_with("num_batches_tracked");
    CHECK_EQUAL(counter, tensor.role == TensorRole::kBatchCounter);
    LONGLONGS_EQUAL(tensor.shape.elements() * (counter ? 8 : 4), tensor.bytes());
  }
  LONGLONGS_EQUAL(9620, buffer_elements);  // sum(b.numel() for b in resnet18().buffers())
}

}  // namespace weft::model
