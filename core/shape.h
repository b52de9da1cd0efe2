// SPDX-License-Identifier: Apache-2.0
// The extents of a dense tensor, outermost first: [N][C][H][W] for images and activations,
// [O][I][KH][KW] for convolution weights, [O][I] for linear ones. A value: no data behind it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace weft {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;  // rank 0: a scalar, one element
  Shape(std::initializer_list<int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const;
  // Product of all extents. Create() paths validate extents first, so this cannot overflow.
  int64_t elements() const;
  // "[64, 3, 7, 7]", as PyTorch prints it.
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  int rank_ = 0;
  std::array<int64_t, kMaxRank> dims_{};
};

}  // namespace weft
