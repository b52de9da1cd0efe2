// SPDX-License-Identifier: Apache-2.0
#include "core/model/zoo/conv_norm.h"

namespace weft::model {

NodeId AddConvNorm(GraphBuilder& graph, const std::string& conv_name, const std::string& norm_name,
                   Conv2d conv, NodeId input, const BatchNorm& norm) {
  conv.bias = false;
  const NodeId convolved = graph.Add(conv_name, conv, {input});
  return graph.Add(norm_name, norm, {convolved});
}

NodeId AddInceptionConv(GraphBuilder& graph, const std::string& path, const Conv2d& conv,
                        NodeId input) {
  const NodeId normed =
      AddConvNorm(graph, path + ".conv", path + ".bn", conv, input, {.eps = 1e-3});
  return graph.Add(path + ".relu", Relu{}, {normed});
}

}  // namespace weft::model
