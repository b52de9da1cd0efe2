// SPDX-License-Identifier: Apache-2.0
#include "kernels/acl/columns.h"

#include <algorithm>

namespace weft::acl {
namespace {

// Enough columns for the weights to be worth packing, and no more of them than these floats hold if
// there are as many.
constexpr int64_t kFewestColumns = 256;
constexpr int64_t kMostFloats = 1 << 19;

}  // namespace

std::vector<Chunk> ChunksOf(const Geometry& g) {
  const int64_t wanted = std::max(kFewestColumns, kMostFloats / ColumnDepth(g));
  std::vector<Chunk> chunks;
  if (g.out_plane() <= wanted) {
    const int64_t images = wanted / g.out_plane();
    for (int64_t n = 0; n < g.images; n += images) {
      chunks.push_back({n, std::min(images, g.images - n), 0, g.h.out});
    }
    return chunks;
  }
  const int64_t rows = std::max<int64_t>(1, wanted / g.w.out);
  for (int64_t n = 0; n < g.images; ++n) {
    for (int64_t row = 0; row < g.h.out; row += rows) {
      chunks.push_back({n, 1, row, std::min(rows, g.h.out - row)});
    }
  }
  return chunks;
}

void FillColumns(const Geometry& g, const Chunk& chunk, int64_t group, const float* src,
                 float* columns, Parallel& parallel) {
  const int64_t step = g.w.stride;
  parallel.For(ColumnDepth(g), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t channel = group * g.group_in + r / g.taps();
      const int64_t kh = r % g.taps() / g.w.kernel;
      const int64_t kw = r % g.w.kernel;
      const int64_t first = g.w.FirstPlace(kw, 0);
      const int64_t last = std::max(first, g.w.FirstPlace(kw, g.w.in));
      float* to = columns + r * chunk.columns(g);
      for (int64_t n = chunk.image; n < chunk.image + chunk.images; ++n) {
        const float* plane = src + (n * g.in_channels + channel) * g.in_plane();
        for (int64_t oh = chunk.row; oh < chunk.row + chunk.rows; ++oh, to += g.w.out) {
          const int64_t ih = g.h.Cell(oh, kh);
          if (ih < 0 || ih >= g.h.in) {
            std::fill_n(to, g.w.out, 0.0f);
            continue;
          }
          const float* from = plane + ih * g.w.in + g.w.Cell(0, kw);
          std::fill_n(to, first, 0.0f);
          if (step == 1) {
            for (int64_t ow = first; ow < last; ++ow) to[ow] = from[ow];
          } else {
            for (int64_t ow = first; ow < last; ++ow) to[ow] = from[ow * step];
          }
          std::fill_n(to + last, g.w.out - last, 0.0f);
        }
      }
    }
  });
}

void AddColumns(const Geometry& g, const Chunk& chunk, int64_t group, const float* columns,
                float* d_src, Parallel& parallel) {
  const int64_t step = g.w.stride;
  parallel.For(g.group_in, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t n = 0; n < chunk.images; ++n) {
        const int64_t channel = (chunk.image + n) * g.in_channels + group * g.group_in + i;
        float* plane = d_src + channel * g.in_plane();
        if (chunk.row == 0) std::fill_n(plane, g.in_plane(), 0.0f);
        for (int64_t tap = 0; tap < g.taps(); ++tap) {
          const int64_t kh = tap / g.w.kernel;
          const int64_t kw = tap % g.w.kernel;
          const int64_t first = g.w.FirstPlace(kw, 0);
          const int64_t last = g.w.FirstPlace(kw, g.w.in);
          const float* from =
              columns + (i * g.taps() + tap) * chunk.columns(g) + n * chunk.image_columns(g);
          for (int64_t oh = chunk.row; oh < chunk.row + chunk.rows; ++oh, from += g.w.out) {
            const int64_t ih = g.h.Cell(oh, kh);
            if (ih < 0 || ih >= g.h.in) continue;
            float* to = plane + ih * g.w.in + g.w.Cell(0, kw);
            if (step == 1) {
              for (int64_t ow = first; ow < last; ++ow) to[ow] += from[ow];
            } else {
              for (int64_t ow = first; ow < last; ++ow) to[ow * step] += from[ow];
            }
          }
        }
      }
    }
  });
}

}  // namespace weft::acl
