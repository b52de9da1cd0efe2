// SPDX-License-Identifier: Apache-2.0
// The activations by the number, for the ops they are joined to. NaN passes through, as in PyTorch.
#pragma once

#include <algorithm>

#include "core/kernel.h"

namespace weft::ref {

inline double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kRelu6:
      return std::min(std::max(x, 0.0), 6.0);
  }
  return x;
}

// The gradient before the activation, from the one after it and from the activation's result. At a
// kink it is zero.
inline float ActivateBackward(Activation activation, float dst, float d_dst) {
  const bool flat = (activation != Activation::kNone && dst <= 0) ||
                    (activation == Activation::kRelu6 && dst >= 6);
  return flat ? 0.0f : d_dst;
}

}  // namespace weft::ref
