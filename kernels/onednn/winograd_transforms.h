// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering along one axis: four outputs of a filter of three take six products
// instead of twelve. Signal, filter and products are polynomials, multiplied at the six points
// 0, a, -a, b, -b and infinity; the transforms evaluate and interpolate there (Lavin and Gray,
// 2016; the points are those that rounding suffers least from). The gradient of the filter is the
// same with the sizes of filter and output exchanged.
#pragma once

#include "kernels/onednn/wide.h"

namespace weft::onednn::winograd {

constexpr int kOut = 4;                // outputs of a tile, along one axis
constexpr int kTaps = 3;               // of the filter
constexpr int kIn = kOut + kTaps - 1;  // what the outputs see, and the number of points

constexpr float kA = 0.625f, kB = 1.5f;
constexpr float kA2 = kA * kA, kB2 = kB * kB;
constexpr float kZeroNorm = 1 / (kA2 * kB2);
constexpr float kANorm = 1 / (2 * kA2 * (kA2 - kB2));
constexpr float kBNorm = 1 / (2 * kB2 * (kB2 - kA2));

// Each reads from x and writes to y, whose neighbours are `step` apart. T is a Vec.

// Six values of the signal.
template <typename T>
WEFT_WIDE inline void Signal(const T* x, T* y, int step) {
  const T x0 = x[0], x1 = x[step], x2 = x[2 * step];
  const T x3 = x[3 * step], x4 = x[4 * step], x5 = x[5 * step];
  const T even_a = x4 - kB2 * x2, odd_a = kA * (x3 - kB2 * x1);
  const T even_b = x4 - kA2 * x2, odd_b = kB * (x3 - kA2 * x1);
  y[0] = (kA2 * kB2) * x0 - (kA2 + kB2) * x2 + x4;
  y[step] = even_a + odd_a;
  y[2 * step] = even_a - odd_a;
  y[3 * step] = even_b + odd_b;
  y[4 * step] = even_b - odd_b;
  y[5 * step] = (kA2 * kB2) * x1 - (kA2 + kB2) * x3 + x5;
}

// Three taps of a filter to six points.
template <typename T>
WEFT_WIDE inline void Filter3(const T* x, T* y, int step) {
  const T x0 = x[0], x1 = x[step], x2 = x[2 * step];
  const T even_a = kANorm * (x0 + kA2 * x2), odd_a = (kANorm * kA) * x1;
  const T even_b = kBNorm * (x0 + kB2 * x2), odd_b = (kBNorm * kB) * x1;
  y[0] = kZeroNorm * x0;
  y[step] = even_a + odd_a;
  y[2 * step] = even_a - odd_a;
  y[3 * step] = even_b + odd_b;
  y[4 * step] = even_b - odd_b;
  y[5 * step] = x2;
}

// Four taps of a filter to six points.
template <typename T>
WEFT_WIDE inline void Filter4(const T* x, T* y, int step) {
  const T x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step];
  const T even_a = kANorm * (x0 + kA2 * x2), odd_a = (kANorm * kA) * (x1 + kA2 * x3);
  const T even_b = kBNorm * (x0 + kB2 * x2), odd_b = (kBNorm * kB) * (x1 + kB2 * x3);
  y[0] = kZeroNorm * x0;
  y[step] = even_a + odd_a;
  y[2 * step] = even_a - odd_a;
  y[3 * step] = even_b + odd_b;
  y[4 * step] = even_b - odd_b;
  y[5 * step] = x3;
}

// Products at six points to four outputs.
template <typename T>
WEFT_WIDE inline void Output4(const T* x, T* y, int step) {
  const T sum_a = x[step] + x[2 * step], odd_a = kA * (x[step] - x[2 * step]);
  const T sum_b = x[3 * step] + x[4 * step], odd_b = kB * (x[3 * step] - x[4 * step]);
  y[0] = x[0] + sum_a + sum_b;
  y[step] = odd_a + odd_b;
  y[2 * step] = kA2 * sum_a + kB2 * sum_b;
  y[3 * step] = kA2 * odd_a + kB2 * odd_b + x[5 * step];
}

// Products at six points to three outputs.
template <typename T>
WEFT_WIDE inline void Output3(const T* x, T* y, int step) {
  const T sum_a = x[step] + x[2 * step], odd_a = kA * (x[step] - x[2 * step]);
  const T sum_b = x[3 * step] + x[4 * step], odd_b = kB * (x[3 * step] - x[4 * step]);
  y[0] = x[0] + sum_a + sum_b;
  y[step] = odd_a + odd_b;
  y[2 * step] = kA2 * sum_a + kB2 * sum_b + x[5 * step];
}

}  // namespace weft::onednn::winograd
