// SPDX-License-Identifier: Apache-2.0
// The channel-blocked layouts of activations, defined: where each value lies, and how a tensor goes
// from one layout to another.
#pragma once

#include <cstdint>

#include "core/shape.h"

namespace weft::ref {

// The place of value (n, c, h, w) of `shape` [N][C][H][W] in [N][ceil(C/block)][H][W][block].
int64_t BlockedPlace(const Shape& shape, int block, int64_t n, int64_t c, int64_t h, int64_t w);

// Copies a tensor from one channel block to another, any to any; the channels that fill up the last
// block of dst become zero, whatever those of src hold. Both have ActivationElements() values and
// do not overlap. A shape that is not [N][C][H][W] has no channels to block: it is copied.
void Reorder(const Shape& shape, const float* src, int src_block, float* dst, int dst_block);

}  // namespace weft::ref
