// SPDX-License-Identifier: Apache-2.0
// How a window slides over an image, one axis at a time: which cells it sees, and which windows see
// a cell. Convolution and pooling are written in these terms.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/model/layer.h"
#include "core/shape.h"

namespace weft::ref {

struct Run {  // of neighbours: begin .. end - 1
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
};

struct Axis {
  int64_t in;   // cells of the image
  int64_t out;  // windows
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation = 1;

  // The image cell under kernel cell k of window o; outside of [0, in) it is padding.
  int64_t Cell(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }

  // The windows whose kernel cell k is over the image.
  Run WindowsInside(int64_t k) const {
    // Cell(o, k) >= 0 asks for o >= first / stride, Cell(o, k) < in for o < last / stride; both
    // quotients rounded up, and no lower than 0.
    const int64_t first = std::max<int64_t>(padding - k * dilation, 0);
    const int64_t last = std::max<int64_t>(in + padding - k * dilation, 0);
    const int64_t begin = (first + stride - 1) / stride;
    const int64_t end = std::min((last + stride - 1) / stride, out);
    return {begin, std::max(begin, end)};
  }

  // The image cells under window o, if it is not dilated.
  Run Cells(int64_t o) const {
    const int64_t start = Cell(o, 0);
    return {std::max<int64_t>(start, 0), std::min(start + kernel, in)};
  }
};

struct Window {
  Axis h;
  Axis w;
};

// `src` and `dst` are [N][C][H][W].
inline Window WindowOf(const Shape& src, const Shape& dst, model::Hw kernel, model::Hw stride,
                       model::Hw padding, model::Hw dilation = 1) {
  return {{src[2], dst[2], kernel.h, stride.h, padding.h, dilation.h},
          {src[3], dst[3], kernel.w, stride.w, padding.w, dilation.w}};
}

}  // namespace weft::ref
