// SPDX-License-Identifier: Apache-2.0
// LeNet-5 in its common modern form: ReLU for the squashing functions, max pooling for the trained
// subsampling, all pairs of channels connected, a padded first layer for 28x28 digits.
#include <string>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/model/zoo/models.h"

namespace weft::model {

Result<Graph> BuildLenet5(const ModelSpec& spec) {
  GraphBuilder graph(std::string(spec.name), spec.input);
  NodeId x = GraphBuilder::kInput;
  x = graph.Add("conv1", Conv2d{.out_channels = 6, .kernel = 5, .padding = 2}, {x});
  x = graph.Add("relu1", Relu{}, {x});
  x = graph.Add("pool1", MaxPool{.kernel = 2, .stride = 2}, {x});
  x = graph.Add("conv2", Conv2d{.out_channels = 16, .kernel = 5}, {x});
  x = graph.Add("relu2", Relu{}, {x});
  x = graph.Add("pool2", MaxPool{.kernel = 2, .stride = 2}, {x});
  x = graph.Add("flatten", Flatten{}, {x});
  x = graph.Add("fc1", Linear{.out_features = 120}, {x});
  x = graph.Add("relu3", Relu{}, {x});
  x = graph.Add("fc2", Linear{.out_features = 84}, {x});
  x = graph.Add("relu4", Relu{}, {x});
  graph.Add("fc3", Linear{.out_features = spec.classes}, {x});
  return std::move(graph).Finish();
}

}  // namespace weft::model
