// SPDX-License-Identifier: Apache-2.0
#include "core/shape.h"

#include <cassert>

namespace weft {

Shape::Shape(std::initializer_list<int64_t> dims) {
  assert(dims.size() <= kMaxRank);
  for (int64_t extent : dims) {
    assert(extent >= 0);
    dims_[rank_++] = extent;
  }
}

int64_t Shape::operator[](int axis) const {
  assert(axis >= 0 && axis < rank_);
  return dims_[axis];
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) {
    [[maybe_unused]] const bool overflow = __builtin_mul_overflow(product, dims_[axis], &product);
    assert(!overflow);
  }
  return product;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(dims_[axis]);
  }
  return text + "]";
}

}  // namespace weft
