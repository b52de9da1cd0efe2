// SPDX-License-Identifier: Apache-2.0
#include "kernels/ref/reorder.h"

#include <algorithm>

namespace weft::ref {

int64_t BlockedPlace(const Shape& shape, int block, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t blocks = (shape[1] + block - 1) / block;
  return (((n * blocks + c / block) * shape[2] + h) * shape[3] + w) * block + c % block;
}

void Reorder(const Shape& shape, const float* src, int src_block, float* dst, int dst_block) {
  if (shape.rank() != 4) {
    std::copy_n(src, shape.elements(), dst);
    return;
  }
  const int64_t channels = (shape[1] + dst_block - 1) / dst_block * dst_block;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t h = 0; h < shape[2]; ++h) {
        for (int64_t w = 0; w < shape[3]; ++w) {
          dst[BlockedPlace(shape, dst_block, n, c, h, w)] =
              c < shape[1] ? src[BlockedPlace(shape, src_block, n, c, h, w)] : 0.0f;
        }
      }
    }
  }
}

}  // namespace weft::ref
