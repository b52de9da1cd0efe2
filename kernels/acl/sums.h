// SPDX-License-Identifier: Apache-2.0
// Sums of many floats: short runs in float, which become vector code, joined in double.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "kernels/acl/window.h"

namespace weft::acl {

// Calls run(begin, end) for runs of no more than 512 of `count` neighbours.
template <typename Run>
inline void ForRuns(int64_t count, const Run& run) {
  constexpr int64_t kRun = 512;
  for (int64_t begin = 0; begin < count; begin += kRun) run(begin, std::min(begin + kRun, count));
}

inline double SumOf(const float* values, int64_t count) {
  double sum = 0;
  ForRuns(count, [&](int64_t begin, int64_t end) {
    float run = 0;
    for (int64_t i = begin; i < end; ++i) run += values[i];
    sum += run;
  });
  return sum;
}

// The gradient of a bias: d_bias [O] from d_dst [N][O][OH][OW].
inline void SumChannels(const Geometry& g, const float* d_dst, float* d_bias, Parallel& parallel) {
  parallel.For(g.out_channels, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      double sum = 0;
      for (int64_t n = 0; n < g.images; ++n) {
        sum += SumOf(d_dst + (n * g.out_channels + o) * g.out_plane(), g.out_plane());
      }
      d_bias[o] = static_cast<float>(sum);
    }
  });
}

}  // namespace weft::acl
