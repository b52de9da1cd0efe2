// SPDX-License-Identifier: Apache-2.0
// Parameters and gradients are larger than the caches, and one core alone does not keep the memory
// busy.
#pragma once

#include <algorithm>
#include <cassert>
#include <span>

#include "core/parallel.h"

namespace weft {

// Thread: the owner's of `parallel`.
inline void CopyFloats(std::span<const float> from, std::span<float> to, Parallel& parallel) {
  constexpr size_t kWorthSharing = 32 << 10;
  assert(from.size() == to.size());
  if (from.size() < kWorthSharing) {
    std::copy(from.begin(), from.end(), to.begin());
    return;
  }
  parallel.For(static_cast<int64_t>(from.size()), [&](int64_t begin, int64_t end) {
    std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
  });
}

}  // namespace weft
