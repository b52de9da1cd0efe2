// SPDX-License-Identifier: Apache-2.0
// The activations by the number, in a form that loops of them become vector code. NaN passes
// through, as in PyTorch.
#pragma once

#include "core/kernel.h"

namespace weft::acl {

template <Activation kActivation>
inline float Activate(float x) {
  if constexpr (kActivation != Activation::kNone) x = x < 0.0f ? 0.0f : x;
  if constexpr (kActivation == Activation::kRelu6) x = x > 6.0f ? 6.0f : x;
  return x;
}

// The gradient before the activation from the one after it and the activation's result. At a kink
// it is zero.
template <Activation kActivation>
inline float ActivateBackward(float dst, float d_dst) {
  if constexpr (kActivation != Activation::kNone) d_dst = dst <= 0.0f ? 0.0f : d_dst;
  if constexpr (kActivation == Activation::kRelu6) d_dst = dst >= 6.0f ? 0.0f : d_dst;
  return d_dst;
}

// Calls body.template operator()<kActivation>() for the one that is asked for.
template <typename Body>
auto WithActivation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::kRelu:
      return body.template operator()<Activation::kRelu>();
    case Activation::kRelu6:
      return body.template operator()<Activation::kRelu6>();
    case Activation::kNone:
      break;
  }
  return body.template operator()<Activation::kNone>();
}

}  // namespace weft::acl
