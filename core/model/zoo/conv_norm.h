// SPDX-License-Identifier: Apache-2.0
// The pair most networks are made of: a convolution that leaves its bias to the batch
// normalisation behind it.
#pragma once

#include <string>

#include "core/model/graph_builder.h"
#include "core/model/layer.h"

namespace weft::model {

// `conv` without its bias, then the normalisation.
NodeId AddConvNorm(GraphBuilder& graph, const std::string& conv_name, const std::string& norm_name,
                   Conv2d conv, NodeId input, const BatchNorm& norm = {});

// The inception networks' brick: <path>.conv, <path>.bn with an eps of 0.001, and a ReLU.
NodeId AddInceptionConv(GraphBuilder& graph, const std::string& path, const Conv2d& conv,
                        NodeId input);

}  // namespace weft::model
