// SPDX-License-Identifier: Apache-2.0
// Loops for the compiler to vectorise, which CMakeLists.txt asks of it for this file.
#include "cloud_ps/number_checks.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::ps {
namespace {

// The exponent of infinity and of no number at all, and of nothing else.
constexpr uint32_t kNotFinite = 0x7f800000;

constexpr size_t kLookEvery = 4096;  // floats between two looks at what was found
constexpr size_t kLanes = 8;

}  // namespace

bool AllFinite(std::span<const float> values) {
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(values.size(), kLookEvery));
    uint32_t largest = 0;
    for (const float value : block) {
      largest = std::max(largest, std::bit_cast<uint32_t>(value) & kNotFinite);
    }
    if (largest == kNotFinite) return false;
    values = values.subspan(block.size());
  }
  return true;
}

double SumOfSquares(std::span<const float> values) {
  double lanes[kLanes] = {};  // lane l has values l, l + kLanes, ...
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[lane] += value * value;
    }
  }
  for (size_t i = whole; i < values.size(); ++i) {
    const double value = values[i];
    lanes[i - whole] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace weft::ps
