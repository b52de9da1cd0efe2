// SPDX-License-Identifier: Apache-2.0
// How the kernel of a convolution slides over an image: which outputs see the image through which
// of its cells.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/kernel.h"

namespace weft::acl {

struct Axis {
  int64_t in;   // cells of the image
  int64_t out;  // places of the kernel
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;

  // The cell under cell k of the kernel at place o; beyond [0, in) there is padding.
  int64_t Cell(int64_t o, int64_t k) const { return o * stride + k * dilation - padding; }
  // The first place at which cell k of the kernel is over cell `cell` of the image or past it, no
  // further than `out`.
  int64_t FirstPlace(int64_t k, int64_t cell) const {
    const int64_t way = cell + padding - k * dilation;
    return way <= 0 ? 0 : std::min((way + stride - 1) / stride, out);
  }
};

struct Geometry {
  Geometry(const model::Conv2d& conv, const OpSpec& op)
      : images(op.dst[0]),
        in_channels(conv.in_channels),
        out_channels(conv.out_channels),
        groups(conv.groups),
        group_in(conv.in_channels / conv.groups),
        group_out(conv.out_channels / conv.groups),
        h{op.srcs[0][2], op.dst[2], conv.kernel.h, conv.stride.h, conv.padding.h, conv.dilation.h},
        w{op.srcs[0][3], op.dst[3], conv.kernel.w, conv.stride.w, conv.padding.w, conv.dilation.w} {
  }

  int64_t in_plane() const { return h.in * w.in; }
  int64_t out_plane() const { return h.out * w.out; }
  int64_t taps() const { return h.kernel * w.kernel; }
  // Whether every output sees the one cell that lies where it lies.
  bool is_pointwise() const {
    return taps() == 1 && h.stride == 1 && w.stride == 1 && h.padding == 0 && w.padding == 0;
  }
  bool is_depthwise() const { return group_in == 1 && groups > 1; }

  // Calls row(out, in, count) for each row of outputs that see the image through cell (kh, kw):
  // outputs out, out + 1, .. of their plane and cells in, in + w.stride, .. of theirs.
  template <typename Row>
  void RowsOfTap(int64_t kh, int64_t kw, const Row& row) const {
    const int64_t begin = w.FirstPlace(kw, 0);
    const int64_t end = w.FirstPlace(kw, w.in);
    if (begin >= end) return;
    for (int64_t oh = h.FirstPlace(kh, 0); oh < h.FirstPlace(kh, h.in); ++oh) {
      row(oh * w.out + begin, h.Cell(oh, kh) * w.in + w.Cell(begin, kw), end - begin);
    }
  }

  int64_t images;
  int64_t in_channels;
  int64_t out_channels;
  int64_t groups;
  int64_t group_in;   // channels of one group
  int64_t group_out;  // channels of one group
  Axis h;
  Axis w;
};

}  // namespace weft::acl
