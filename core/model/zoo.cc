// SPDX-License-Identifier: Apache-2.0
#include "core/model/zoo.h"

#include <algorithm>
#include <string>

#include "core/model/zoo/models.h"

namespace weft::model {

std::span<const ZooEntry> Zoo() {
  static const Shape kMnist{1, 28, 28};
  static const Shape kCifar{3, 32, 32};
  static const Shape kImageNet{3, 224, 224};
  static const ZooEntry kEntries[] = {
      {"lenet5", "five layers for handwritten digits", kMnist, 10, BuildLenet5},
      {"resnet18-cifar", "resnet18 with a stem for small images", kCifar, 10, BuildResnet18Cifar},
      {"resnet18", "residual network of basic blocks", kImageNet, 1000, BuildResnet18},
      {"resnet34", "residual network of basic blocks", kImageNet, 1000, BuildResnet34},
      {"resnet50", "residual network of bottlenecks", kImageNet, 1000, BuildResnet50},
      {"resnet101", "residual network of bottlenecks", kImageNet, 1000, BuildResnet101},
      {"resnet152", "residual network of bottlenecks", kImageNet, 1000, BuildResnet152},
      {"vgg11", "plain 3x3 convolutions, large classifier", kImageNet, 1000, BuildVgg11},
      {"vgg16", "plain 3x3 convolutions, large classifier", kImageNet, 1000, BuildVgg16},
      {"vgg19", "plain 3x3 convolutions, large classifier", kImageNet, 1000, BuildVgg19},
      {"googlenet", "nine inception blocks, no auxiliary heads", kImageNet, 1000, BuildGooglenet},
      {"inception_v4",
       "fourteen inception blocks on three grids",
       {3, 299, 299},
       1000,
       BuildInceptionV4},
      {"mobilenet_v2", "depthwise inverted residuals, for phones", kImageNet, 1000,
       BuildMobilenetV2},
      {"squeezenet1_1", "fire blocks, 5 MB of parameters", kImageNet, 1000, BuildSqueezenet11},
  };
  return kEntries;
}

Result<Graph> BuildModel(std::string_view name, const ModelOptions& options) {
  const std::span<const ZooEntry> zoo = Zoo();
  const auto entry =
      std::find_if(zoo.begin(), zoo.end(), [&](const ZooEntry& e) { return e.name == name; });
  if (entry == zoo.end()) {
    std::string known;
    for (const ZooEntry& e : zoo) known += (known.empty() ? "" : ", ") + std::string(e.name);
    return Status::NotFound("no model is called '" + std::string(name) + "'; there are " + known);
  }
  if (options.classes < 0) {
    return Status::InvalidInput(std::string(name) + " cannot tell " +
                                std::to_string(options.classes) + " classes apart");
  }
  return entry->build({.name = entry->name,
                       .input = options.input.rank() == 0 ? entry->input : options.input,
                       .classes = options.classes == 0 ? entry->classes : options.classes});
}

}  // namespace weft::model
