// SPDX-License-Identifier: Apache-2.0
// Matrix products on matrices of channel blocks: a block of B channels is stored row by row,
// [rows][B], and a matrix of C channels is its ceil(C/B) blocks one after the other. That is how an
// image lies in memory, its cells being the rows.
#pragma once

#include <cstdint>

#include "kernels/onednn/wide.h"

namespace weft::onednn {

// How many rows the inner loop of a product works on at most. Twice as many sums, of two blocks
// each, fit into the sixteen registers that AVX2 has.
constexpr int kGemmRows = 6;

// c [rows][B], twice, = or += the product of a, `blocks` blocks of [rows][B], and b, [blocks * B][2
// * B]. The strides are in floats, from one block to the next. With kWide false only the first half
// of b is used and one block of c made.
template <int kBlock, int kRows, bool kWide, bool kAdd>
WEFT_WIDE inline void MultiplyRows(const float* a, int64_t a_stride, int64_t blocks, const float* b,
                                   float* c, int64_t c_stride) {
  using Float = Vec<kBlock>;
  Float sums[kRows][2];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    sums[r][0] = kAdd ? reinterpret_cast<const Float*>(c)[r] : Float{};
    sums[r][1] = kAdd && kWide ? reinterpret_cast<const Float*>(c + c_stride)[r] : Float{};
  }
  for (int64_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 4
    for (int i = 0; i < kBlock; ++i) {
      const Float left = reinterpret_cast<const Float*>(b)[0];
      const Float right = reinterpret_cast<const Float*>(b)[1];
      b += 2 * kBlock;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const float x = a[r * kBlock + i];
        sums[r][0] += x * left;
        if constexpr (kWide) sums[r][1] += x * right;
      }
    }
    a += a_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    reinterpret_cast<Float*>(c)[r] = sums[r][0];
    if constexpr (kWide) reinterpret_cast<Float*>(c + c_stride)[r] = sums[r][1];
  }
}

// The same for any number of rows, which are shared out evenly to runs of no more than kGemmRows.
template <int kBlock, bool kWide, bool kAdd>
WEFT_WIDE inline void MultiplyBlocks(int64_t rows, const float* a, int64_t a_stride, int64_t blocks,
                                     const float* b, float* c, int64_t c_stride) {
  const int64_t runs = (rows + kGemmRows - 1) / kGemmRows;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t begin = rows * run / runs;
    const float* a_run = a + begin * kBlock;
    float* c_run = c + begin * kBlock;
    switch (rows * (run + 1) / runs - begin) {
      case 6:
        MultiplyRows<kBlock, 6, kWide, kAdd>(a_run, a_stride, blocks, b, c_run, c_stride);
        break;
      case 5:
        MultiplyRows<kBlock, 5, kWide, kAdd>(a_run, a_stride, blocks, b, c_run, c_stride);
        break;
      case 4:
        MultiplyRows<kBlock, 4, kWide, kAdd>(a_run, a_stride, blocks, b, c_run, c_stride);
        break;
      case 3:
        MultiplyRows<kBlock, 3, kWide, kAdd>(a_run, a_stride, blocks, b, c_run, c_stride);
        break;
      case 2:
        MultiplyRows<kBlock, 2, kWide, kAdd>(a_run, a_stride, blocks, b, c_run, c_stride);
        break;
      case 1:
        MultiplyRows<kBlock, 1, kWide, kAdd>(a_run, a_stride, blocks, b, c_run, c_stride);
        break;
    }
  }
}

// c [B][2 * B] = or += the product of a transposed, a [rows][B], and b, two blocks [rows][B] that
// are b_stride floats apart. With kWide false, one block and the left half of c.
template <int kBlock, bool kWide>
WEFT_WIDE inline void MultiplyOuter(int64_t rows, const float* a, const float* b, int64_t b_stride,
                                    float* c, bool add) {
  using Float = Vec<kBlock>;
  constexpr int kAtOnce = 4;
  for (int first = 0; first < kBlock; first += kAtOnce) {
    auto* to = reinterpret_cast<Float*>(c + first * 2 * kBlock);
    Float sums[kAtOnce][2];
#pragma GCC unroll 8
    for (int i = 0; i < kAtOnce; ++i) {
      sums[i][0] = add ? to[2 * i] : Float{};
      sums[i][1] = add && kWide ? to[2 * i + 1] : Float{};
    }
#pragma GCC unroll 2
    for (int64_t r = 0; r < rows; ++r) {
      const Float left = reinterpret_cast<const Float*>(b)[r];
      const Float right = kWide ? reinterpret_cast<const Float*>(b + b_stride)[r] : Float{};
#pragma GCC unroll 8
      for (int i = 0; i < kAtOnce; ++i) {
        const float x = a[r * kBlock + first + i];
        sums[i][0] += x * left;
        if constexpr (kWide) sums[i][1] += x * right;
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kAtOnce; ++i) {
      to[2 * i] = sums[i][0];
      if constexpr (kWide) to[2 * i + 1] = sums[i][1];
    }
  }
}

}  // namespace weft::onednn
