// SPDX-License-Identifier: Apache-2.0
#include "core/model/layer.h"

#include <array>

namespace weft::model {

std::string_view KindName(const Layer& layer) {
  // In the order of the alternatives of Layer.
  static constexpr std::array<std::string_view, 13> kNames = {
      "input",  "conv2d",   "linear",   "batch_norm",        "relu",
      "relu6",  "max_pool", "avg_pool", "adaptive_avg_pool", "add",
      "concat", "dropout",  "flatten"};
  static_assert(kNames.size() == std::variant_size_v<Layer>);
  return kNames[layer.index()];
}

bool IsWeighted(const Layer& layer) {
  return std::holds_alternative<Conv2d>(layer) || std::holds_alternative<Linear>(layer);
}

}  // namespace weft::model
