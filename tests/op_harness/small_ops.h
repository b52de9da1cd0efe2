// SPDX-License-Identifier: Apache-2.0
// Every layer with every option it has, on shapes that are small, odd and not square: the ops that
// each backend is tried on.
#pragma once

#include <span>
#include <string_view>

#include "core/kernel.h"

namespace weft::harness {

struct SmallOp {
  std::string_view name;  // golden/small_ops.inc knows it by this
  OpSpec op;
};

// All in training; those ending in "_inference" are not.
std::span<const SmallOp> SmallOps();

}  // namespace weft::harness
