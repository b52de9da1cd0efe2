// SPDX-License-Identifier: Apache-2.0
#include "core/kernel.h"

namespace weft {

int64_t ActivationElements(const Shape& shape, int block) {
  if (shape.rank() != 4) return shape.elements();
  const int64_t blocks = (shape[1] + block - 1) / block;
  return shape[0] * blocks * block * shape[2] * shape[3];
}

bool TakesActivation(const model::Layer& layer) {
  return model::IsWeighted(layer) || std::holds_alternative<model::BatchNorm>(layer) ||
         std::holds_alternative<model::Add>(layer);
}

const char* RoleName(Role role) {
  switch (role) {
    case Role::kForward:
      return "forward";
    case Role::kBackwardData:
      return "backward data";
    case Role::kBackwardWeights:
      return "backward weights";
  }
  return "";
}

}  // namespace weft
