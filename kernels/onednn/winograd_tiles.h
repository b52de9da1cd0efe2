// SPDX-License-Identifier: Apache-2.0
// How Winograd's algorithm cuts an image into tiles, and what both of its uses do with them: walk
// over them, look at their cells, transform them to the 36 points and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/onednn/wide.h"
#include "kernels/onednn/winograd_transforms.h"

namespace weft::onednn::winograd {

inline constexpr int kPoints = kIn * kIn;
inline constexpr int kCells = kTaps * kTaps;

struct Plane {
  Plane(const Shape& shape, int block)
      : h(shape[2]), w(shape[3]), channels(shape[1]), blocks((channels + block - 1) / block) {}

  int64_t pairs() const { return (blocks + 1) / 2; }

  int64_t h;
  int64_t w;
  int64_t channels;
  int64_t blocks;
};

// How the work of one convolution is cut up. `in` is what the filter slides over and `out` what it
// makes: src and dst, or for the gradient of src, d_dst and d_src.
struct Tiling {
  Tiling(const Shape& in_shape, const Shape& out_shape, model::Hw padding, const Device& device)
      : in(in_shape, device.block),
        out(out_shape, device.block),
        pad(padding),
        block(device.block),
        columns((out.w + kOut - 1) / kOut),
        image_tiles((out.h + kOut - 1) / kOut * columns),
        tiles(in_shape[0] * image_tiles),
        threads(device.threads) {
    constexpr int64_t kChunkBytes = 1 << 20;  // of transformed tiles
    constexpr int64_t kFewestTiles = 96;      // fewer do not pay for reading the weights
    const int64_t tile_bytes = kPoints * in.blocks * block * sizeof(float);
    const int64_t most = std::max(kChunkBytes / tile_bytes, kFewestTiles);
    chunks = (tiles + most - 1) / most;
    chunk = (tiles + chunks - 1) / chunks;
  }

  // From one point to the next. A line more than needed: strides of a power of two compete for the
  // same few places in the cache.
  int64_t TileStride() const { return in.blocks * chunk * block + kLine; }

  static constexpr int64_t kLine = kAlignment / sizeof(float);

  Plane in;
  Plane out;
  model::Hw pad;
  int64_t block;
  int64_t columns;  // of tiles in an image
  int64_t image_tiles;
  int64_t tiles;
  int64_t chunk = 0;  // tiles in one
  int64_t chunks = 0;
  int64_t threads;
};

// Walks over neighbouring tiles.
struct Tile {
  WEFT_WIDE Tile(const Tiling& tiling, int64_t index)
      : image(index / tiling.image_tiles),
        h(index % tiling.image_tiles / tiling.columns * kOut),
        w(index % tiling.image_tiles % tiling.columns * kOut) {}

  WEFT_WIDE void Next(const Plane& out) {
    w += kOut;
    if (w < out.w) return;
    w = 0;
    h += kOut;
    if (h < out.h) return;
    h = 0;
    ++image;
  }

  int64_t image;
  int64_t h;  // of its first output
  int64_t w;
};

// Calls body(block, i, tile) for tiles [0, count) of the chunk that starts at `first`, for as many
// blocks of channels; threads share them out.
template <int kBlock, typename Body>
void ForTiles(const Device& device, const Tiling& t, int64_t blocks, int64_t first, int64_t count,
              const Body& body) {
  ForWide<kBlock>(device, blocks * count, [&](int64_t begin, int64_t end) WEFT_WIDE {
    while (begin < end) {
      const int64_t block = begin / count;
      const int64_t stop = std::min(end - block * count, count);
      Tile tile(t, first + begin % count);
      for (int64_t i = begin % count; i < stop; ++i, tile.Next(t.out)) body(block, i, tile);
      begin = block * count + stop;
    }
  });
}

// Cells of a plane, row by row.
template <typename Float>
struct Cells {
  const Float* first;
  int64_t stride;  // from one row to the next
};

// kSize x kSize of them from (h, w) on. If some are outside of the plane, and so zero, the others
// are copied to `buffer`.
template <int kSize, typename Float>
WEFT_WIDE inline Cells<Float> LookAt(const Float* plane, const Plane& size, int64_t h, int64_t w,
                                     Float* buffer) {
  if (h >= 0 && w >= 0 && h + kSize <= size.h && w + kSize <= size.w) {
    return {plane + h * size.w + w, size.w};
  }
  for (int r = 0; r < kSize; ++r) {
    for (int c = 0; c < kSize; ++c) {
      const bool inside = h + r >= 0 && h + r < size.h && w + c >= 0 && w + c < size.w;
      buffer[r * kSize + c] = inside ? plane[(h + r) * size.w + w + c] : Float{};
    }
  }
  return {buffer, kSize};
}

// Transforms kRows rows of cells and then the columns, with a function of winograd_transforms.h, to
// [6][6] cells that go to `place` at distances of `stride`.
template <int kRows, typename Float, typename Transform>
WEFT_WIDE inline void TransformTo(Cells<Float> x, float* place, int64_t stride,
                                  const Transform& transform) {
  Float half[kRows * kIn];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) transform(x.first + r * x.stride, half + r * kIn, 1);
#pragma GCC unroll 8
  for (int c = 0; c < kIn; ++c) {
    Float y[kPoints];
    transform(half + c, y, kIn);
#pragma GCC unroll 8
    for (int r = 0; r < kIn; ++r) {
      *reinterpret_cast<Float*>(place + (r * kIn + c) * stride) = y[r * kIn];
    }
  }
}

// The other way: from [6][6] cells at `place` to y [kSize][kSize].
template <int kSize, typename Float, typename Transform>
WEFT_WIDE inline void TransformFrom(const float* place, int64_t stride, Float* y,
                                    const Transform& transform) {
  Float half[kSize * kIn];
#pragma GCC unroll 8
  for (int c = 0; c < kIn; ++c) {
    Float x[kPoints];
#pragma GCC unroll 8
    for (int r = 0; r < kIn; ++r) {
      x[r * kIn] = *reinterpret_cast<const Float*>(place + (r * kIn + c) * stride);
    }
    transform(x, half + c, kIn);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kSize; ++r) transform(half + r * kIn, y + r * kSize, 1);
}

// Tiles [first, first + count) of src, transformed: to [36][in blocks][chunk][B].
template <int kBlock>
void TransformTiles(const Device& device, const Tiling& t, const float* src, int64_t first,
                    int64_t count, float* to) {
  using Float = Vec<kBlock>;
  ForTiles<kBlock>(device, t, t.in.blocks, first, count,
                   [&](int64_t block, int64_t i, const Tile& tile) WEFT_WIDE {
                     const Float* plane = reinterpret_cast<const Float*>(src) +
                                          (tile.image * t.in.blocks + block) * t.in.h * t.in.w;
                     Float buffer[kPoints];
                     const Cells<Float> x =
                         LookAt<kIn>(plane, t.in, tile.h - t.pad.h, tile.w - t.pad.w, buffer);
                     TransformTo<kIn>(x, to + (block * t.chunk + i) * kBlock, t.TileStride(),
                                      [](const Float* from, Float* y, int step)
                                          WEFT_WIDE { Signal(from, y, step); });
                   });
}

}  // namespace weft::onednn::winograd
