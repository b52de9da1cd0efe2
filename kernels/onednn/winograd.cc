// SPDX-License-Identifier: Apache-2.0
// Convolution of 3x3 with stride 1 by Winograd's algorithm on tiles of 4x4 outputs: a quarter of
// the multiplications. Tiles of the image and the weights are transformed, multiplied as matrices
// of channels at each of 36 points, and the products transformed back. Tiles go in chunks and the
// output's channels in groups, so that what is between the transforms stays in the caches. oneDNN
// has this for AVX-512 only.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/onednn/activation.h"
#include "kernels/onednn/block_gemm.h"
#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"
#include "kernels/onednn/winograd_transforms.h"

namespace weft::onednn {
namespace {

using namespace winograd;  // NOLINT(google-build-using-namespace)

constexpr int kPoints = kIn * kIn;
constexpr int kCells = kTaps * kTaps;

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

// ---- forward, and the gradient of src, which is the same with other weights

// The work on the output's channels: groups of pairs of blocks, times slices of the chunk's tiles
// if there are too few groups for the threads.
struct Groups {
  explicit Groups(const Tiling& t) {
    constexpr int64_t kWeightBytes = 3 << 19;  // of a group, transformed
    constexpr int64_t kFusedBytes = 3 << 20;   // of transformed tiles
    // One small chunk: each thread transforms the weights of a group just before their only use.
    keeps_weights = t.chunks > 1 || kPoints * t.TileStride() * int64_t{4} > kFusedBytes;
    const int64_t pair_bytes = kPoints * t.in.blocks * t.block * 2 * t.block * sizeof(float);
    int64_t most = std::max<int64_t>(t.out.pairs() / t.threads, 1);
    if (!keeps_weights) most = std::clamp<int64_t>(kWeightBytes / pair_bytes, 1, most);
    groups = (t.out.pairs() + most - 1) / most;
    pairs = (t.out.pairs() + groups - 1) / groups;
    slices = groups % t.threads == 0 ? 1 : t.threads;
    weight_stride = pairs * t.in.blocks * t.block * 2 * t.block + Tiling::kLine;
    product_stride = 2 * pairs * t.chunk * t.block + Tiling::kLine;
    tiles_place = (keeps_weights ? groups : t.threads) * kPoints * weight_stride;
    products_place = tiles_place + kPoints * t.TileStride();
    end = products_place + t.threads * kPoints * product_stride;
  }

  int64_t groups;
  int64_t pairs;  // in a group, but for the last
  int64_t slices;
  int64_t weight_stride;   // from one point to the next, [pairs][in channels][2 * B]
  int64_t product_stride;  // from one point to the next, [2 * pairs][chunk][B]
  bool keeps_weights;
  // In scratch, in floats: the groups' weights from 0 on, the tiles, each thread's products.
  int64_t tiles_place;
  int64_t products_place;
  int64_t end;
};

// Where the weight between an output's and an input's channel lies among the parameters, and
// whether the filter is turned around.
struct WeightOrder {
  int64_t out_stride;
  int64_t in_stride;
  bool turned;
};

// The weights of a pair of the output's blocks, transformed: to [36][in channels][2 * B]; zero for
// channels that do not exist.
template <int kBlock>
WEFT_WIDE inline void TransformWeights(const Tiling& t, const float* weights, WeightOrder order,
                                       int64_t pair, float* to, int64_t stride) {
  using Float = Vec<kBlock>;
  constexpr int kAtOnce = 16;  // of the input's channels: 9 KB or 18
  const int64_t first_out = pair * 2 * kBlock;
  const int64_t lanes = std::min<int64_t>(2 * kBlock, t.out.channels - first_out);
  for (int64_t first = 0; first < t.in.blocks * kBlock; first += kAtOnce) {
    Float cells[2][kAtOnce][kCells] = {};
    const int64_t ins = std::min<int64_t>(kAtOnce, t.in.channels - first);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      for (int64_t in = 0; in < ins; ++in) {
        const float* w =
            weights + (first_out + lane) * order.out_stride + (first + in) * order.in_stride;
#pragma GCC unroll 16
        for (int k = 0; k < kCells; ++k) {
          cells[lane / kBlock][in][order.turned ? kCells - 1 - k : k][lane % kBlock] = w[k];
        }
      }
    }
    for (int in = 0; in < kAtOnce && first + in < t.in.blocks * kBlock; ++in) {
      for (int half = 0; half < 2; ++half) {
        TransformTo<kTaps>(
            Cells<Float>{cells[half][in], kTaps}, to + ((first + in) * 2 + half) * kBlock, stride,
            [](const Float* from, Float* y, int step) WEFT_WIDE { Filter3(from, y, step); });
      }
    }
  }
}

// Products of tiles [begin, end) of the chunk with the weights of a group, point by point.
template <int kBlock>
WEFT_WIDE inline void Multiply(const Tiling& t, const Groups& g, const float* tiles,
                               const float* weights, int64_t pairs, int64_t begin, int64_t end,
                               float* products) {
  const int64_t block_stride = t.chunk * kBlock;
  for (int point = 0; point < kPoints; ++point) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      MultiplyBlocks<kBlock, true, false>(
          end - begin, tiles + point * t.TileStride() + begin * kBlock, block_stride, t.in.blocks,
          weights + point * g.weight_stride + pair * t.in.blocks * kBlock * 2 * kBlock,
          products + point * g.product_stride + pair * 2 * block_stride + begin * kBlock,
          block_stride);
    }
  }
}

// One block of channels of tiles [begin, end) of the chunk that starts at `first`.
template <int kBlock, Activation kActivation>
WEFT_WIDE inline void TransformProducts(const Tiling& t, const Groups& g, const float* products,
                                        const float* bias, int64_t first, int64_t begin,
                                        int64_t end, int64_t block, float* dst) {
  using Float = Vec<kBlock>;
  Float shift{};
  for (int lane = 0; bias != nullptr && lane < kBlock; ++lane) {
    const int64_t c = block * kBlock + lane;
    shift[lane] = c < t.out.channels ? bias[c] : 0.0f;
  }
  Tile tile(t, first + begin);
  for (int64_t i = begin; i < end; ++i, tile.Next(t.out)) {
    Float y[kOut * kOut];
    TransformFrom<kOut>(products + i * kBlock, g.product_stride, y,
                        [](const Float* x, Float* to, int step)
                            WEFT_WIDE { Output4(x, to, step); });
    Float* plane =
        reinterpret_cast<Float*>(dst) + (tile.image * t.out.blocks + block) * t.out.h * t.out.w;
    const int64_t rows = std::min<int64_t>(kOut, t.out.h - tile.h);
    const int64_t columns = std::min<int64_t>(kOut, t.out.w - tile.w);
    for (int64_t r = 0; r < rows; ++r) {
      Float* row = plane + (tile.h + r) * t.out.w + tile.w;
      for (int64_t c = 0; c < columns; ++c) {
        row[c] = Activate<kActivation>(y[r * kOut + c] + shift);
      }
    }
  }
}

template <int kBlock, Activation kActivation>
void Convolve(const Device& device, const Tiling& t, WeightOrder order, const float* src,
              const float* params, const float* bias, float* dst, std::byte* scratch) {
  const Groups g(t);
  auto* weights = reinterpret_cast<float*>(scratch);
  float* tiles = weights + g.tiles_place;
  const int64_t group_floats = kPoints * g.weight_stride;
  const int64_t pair_floats = t.in.blocks * kBlock * 2 * kBlock;  // at one point
  if (g.keeps_weights) {
    ForWide<kBlock>(device, t.out.pairs(), [&](int64_t begin, int64_t end) WEFT_WIDE {
      for (int64_t pair = begin; pair < end; ++pair) {
        float* to = weights + pair / g.pairs * group_floats + pair % g.pairs * pair_floats;
        TransformWeights<kBlock>(t, params, order, pair, to, g.weight_stride);
      }
    });
  }
  for (int64_t first = 0; first < t.tiles; first += t.chunk) {
    const int64_t count = std::min(t.chunk, t.tiles - first);
    TransformTiles<kBlock>(device, t, src, first, count, tiles);
    ForWide<kBlock>(device, g.groups * g.slices, [&](int64_t begin, int64_t end) WEFT_WIDE {
      const int64_t thread = omp_get_thread_num();
      float* products = weights + g.products_place + thread * kPoints * g.product_stride;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t group = i / g.slices, slice = i % g.slices;
        const int64_t from = count * slice / g.slices, to = count * (slice + 1) / g.slices;
        float* group_weights = weights + (g.keeps_weights ? group : thread) * group_floats;
        const int64_t pairs = std::min(g.pairs, t.out.pairs() - group * g.pairs);
        for (int64_t pair = 0; !g.keeps_weights && pair < pairs; ++pair) {
          TransformWeights<kBlock>(t, params, order, group * g.pairs + pair,
                                   group_weights + pair * pair_floats, g.weight_stride);
        }
        Multiply<kBlock>(t, g, tiles, group_weights, pairs, from, to, products);
        const int64_t first_block = group * g.pairs * 2;
        const int64_t blocks = std::min(2 * pairs, t.out.blocks - first_block);
        for (int64_t block = 0; block < blocks; ++block) {
          TransformProducts<kBlock, kActivation>(t, g, products + block * t.chunk * kBlock, bias,
                                                 first, from, to, first_block + block, dst);
        }
      }
    });
  }
}

// ---- the gradient of the weights: tiles of d_dst are the filters, the weights the outputs

// The work on the output's channels, in blocks.
struct Outputs {
  explicit Outputs(const Tiling& t)
      : gradient_stride(t.out.blocks * t.chunk * t.block + Tiling::kLine),
        product_stride(t.in.pairs() * t.block * 2 * t.block + Tiling::kLine),
        // One chunk: the products of a block of outputs are used at once.
        keeps_products(t.chunks > 1),
        tiles_place((keeps_products ? t.out.blocks : t.threads) * kPoints * product_stride),
        gradients_place(tiles_place + kPoints * t.TileStride()),
        sums_place(gradients_place + kPoints * gradient_stride),
        end(sums_place + 2 * t.threads * t.out.blocks * t.block) {}

  int64_t gradient_stride;  // from one point to the next, [out blocks][chunk][B]
  int64_t product_stride;   // from one point to the next, [pairs of in blocks][B][2 * B]
  bool keeps_products;
  // In scratch, in floats: the products from 0 on, the tiles of src, those of d_dst, and the
  // threads' sums of d_dst, which are doubles.
  int64_t tiles_place;
  int64_t gradients_place;
  int64_t sums_place;
  int64_t end;
};

// Tiles [first, first + count) of d_dst, transformed as filters: to [36][out blocks][chunk][B].
// What a thread sees of a channel's gradients is added to its sums, [threads][out blocks][B].
template <int kBlock>
void TransformGradients(const Device& device, const Tiling& t, const Outputs& o, const float* d_dst,
                        int64_t first, int64_t count, float* to, double* sums) {
  using Float = Vec<kBlock>;
  using Double = typename VecOf<kBlock>::Double;
  auto* all_sums = reinterpret_cast<Double*>(sums);
  ForTiles<kBlock>(device, t, t.out.blocks, first, count,
                   [&](int64_t block, int64_t i, const Tile& tile) WEFT_WIDE {
                     const Float* plane = reinterpret_cast<const Float*>(d_dst) +
                                          (tile.image * t.out.blocks + block) * t.out.h * t.out.w;
                     Float buffer[kOut * kOut];
                     const Cells<Float> x = LookAt<kOut>(plane, t.out, tile.h, tile.w, buffer);
                     Float rows[kOut];
#pragma GCC unroll 8
                     for (int r = 0; r < kOut; ++r) {
                       const Float* row = x.first + r * x.stride;
                       rows[r] = (row[0] + row[1]) + (row[2] + row[3]);
                     }
                     all_sums[omp_get_thread_num() * t.out.blocks + block] +=
                         __builtin_convertvector((rows[0] + rows[1]) + (rows[2] + rows[3]), Double);
                     TransformTo<kOut>(x, to + (block * t.chunk + i) * kBlock, o.gradient_stride,
                                       [](const Float* from, Float* y, int step)
                                           WEFT_WIDE { Filter4(from, y, step); });
                   });
}

// products = or += gradients of one block of outputs, transposed, times tiles, point by point.
template <int kBlock>
WEFT_WIDE inline void MultiplyGradients(const Tiling& t, const Outputs& o, const float* gradients,
                                        const float* tiles, int64_t count, bool add,
                                        float* products) {
  const int64_t block_stride = t.chunk * kBlock;
  for (int point = 0; point < kPoints; ++point) {
    const float* a = gradients + point * o.gradient_stride;
    for (int64_t pair = 0; pair < t.in.pairs(); ++pair) {
      const float* b = tiles + point * t.TileStride() + pair * 2 * block_stride;
      float* c = products + point * o.product_stride + pair * kBlock * 2 * kBlock;
      if (2 * pair + 1 < t.in.blocks) {
        MultiplyOuter<kBlock, true>(count, a, b, block_stride, c, add);
      } else {
        MultiplyOuter<kBlock, false>(count, a, b, block_stride, c, add);
      }
    }
  }
}

// Products of one block of outputs to its rows of d_weights [O][I][3][3].
template <int kBlock>
WEFT_WIDE inline void TransformWeightProducts(const Tiling& t, const Outputs& o,
                                              const float* products, int64_t out_block,
                                              float* d_weights) {
  using Float = Vec<kBlock>;
  const int64_t outs = std::min<int64_t>(kBlock, t.out.channels - out_block * kBlock);
  for (int64_t out = 0; out < outs; ++out) {
    for (int64_t block = 0; block < t.in.blocks; ++block) {
      Float y[kCells];
      TransformFrom<kTaps>(
          products + ((block / 2 * kBlock + out) * 2 + block % 2) * kBlock, o.product_stride, y,
          [](const Float* x, Float* to, int step) WEFT_WIDE { Output3(x, to, step); });
      const auto* cells = reinterpret_cast<const float*>(y);  // [9][B]
      const int64_t first = block * kBlock;
      const int64_t lanes = std::min<int64_t>(kBlock, t.in.channels - first);
      float* to = d_weights + ((out_block * kBlock + out) * t.in.channels + first) * kCells;
      for (int64_t lane = 0; lane < lanes; ++lane) {
#pragma GCC unroll 16
        for (int k = 0; k < kCells; ++k) to[lane * kCells + k] = cells[k * kBlock + lane];
      }
    }
  }
}

template <int kBlock>
void BackwardWeights(const Device& device, const Tiling& t, const float* src, const float* d_dst,
                     float* d_weights, float* d_bias, std::byte* scratch) {
  const Outputs o(t);
  auto* products = reinterpret_cast<float*>(scratch);
  float* tiles = products + o.tiles_place;
  float* gradients = products + o.gradients_place;
  auto* sums = reinterpret_cast<double*>(products + o.sums_place);  // [threads][channels]
  const int64_t channels = t.out.blocks * kBlock;
  std::fill_n(sums, t.threads * channels, 0.0);
  for (int64_t first = 0; first < t.tiles; first += t.chunk) {
    const int64_t count = std::min(t.chunk, t.tiles - first);
    TransformTiles<kBlock>(device, t, src, first, count, tiles);
    TransformGradients<kBlock>(device, t, o, d_dst, first, count, gradients, sums);
    ForWide<kBlock>(device, t.out.blocks, [&](int64_t begin, int64_t end) WEFT_WIDE {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t slot = o.keeps_products ? block : omp_get_thread_num();
        float* mine = products + slot * kPoints * o.product_stride;
        MultiplyGradients<kBlock>(t, o, gradients + block * t.chunk * kBlock, tiles, count,
                                  first > 0, mine);
        if (first + count < t.tiles) continue;
        TransformWeightProducts<kBlock>(t, o, mine, block, d_weights);
      }
    });
  }
  for (int64_t c = 0; d_bias != nullptr && c < t.out.channels; ++c) {
    double sum = 0;
    for (int64_t thread = 0; thread < t.threads; ++thread) sum += sums[thread * channels + c];
    d_bias[c] = static_cast<float>(sum);
  }
}

using ConvolveBody = decltype(&Convolve<8, Activation::kNone>);

ConvolveBody ChooseConvolve(const Device& device, Activation activation) {
  return WithActivation(activation, [&]<Activation kActivation>() -> ConvolveBody {
    return device.block == 16 ? Convolve<16, kActivation> : Convolve<8, kActivation>;
  });
}

}  // namespace

void OfferWinograd(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
                   Offers& offers) {
  const bool fits = conv.kernel == model::Hw(kTaps) && conv.stride == model::Hw(1) &&
                    conv.dilation == model::Hw(1) && conv.groups == 1 && conv.padding.h < kTaps &&
                    conv.padding.w < kTaps;
  if (!fits) return;
  Facts facts{.name = "onednn:loops:winograd_4x3",
              .src_block = device.block,
              .dst_block = device.block,
              .exact = false};
  const int64_t row = static_cast<int64_t>(conv.in_channels) * kCells;  // of weights [O][I][3][3]
  if (role == Role::kForward) {
    const Tiling tiling(op.srcs[0], op.dst, conv.padding, device);
    facts.scratch_bytes = Groups(tiling).end * sizeof(float);
    const auto body = ChooseConvolve(device, op.activation);
    offers.push_back(MakeKernel(facts, [&device, tiling, body, row](const KernelArgs& args) {
      body(device, tiling, {row, kCells, false}, args.srcs[0], args.params[0],
           args.params.size() > 1 ? args.params[1] : nullptr, args.dst, args.scratch);
    }));
  } else if (role == Role::kBackwardData) {
    // The gradient of src is d_dst under the filters turned around, with the padding that makes the
    // sizes right.
    const model::Hw padding(kTaps - 1 - conv.padding.h, kTaps - 1 - conv.padding.w);
    const Tiling tiling(op.dst, op.srcs[0], padding, device);
    facts.scratch_bytes = Groups(tiling).end * sizeof(float);
    const auto body = ChooseConvolve(device, Activation::kNone);
    offers.push_back(MakeKernel(facts, [&device, tiling, body, row](const KernelArgs& args) {
      body(device, tiling, {kCells, row, true}, args.d_dst, args.params[0], nullptr, args.d_srcs[0],
           args.scratch);
    }));
  } else {
    const Tiling tiling(op.srcs[0], op.dst, conv.padding, device);
    facts.scratch_bytes = Outputs(tiling).end * sizeof(float);
    facts.reads_src = true;
    const auto body = device.block == 16 ? BackwardWeights<16> : BackwardWeights<8>;
    offers.push_back(MakeKernel(facts, [&device, tiling, body](const KernelArgs& args) {
      body(device, tiling, args.srcs[0], args.d_dst, args.d_params[0],
           args.d_params.size() > 1 ? args.d_params[1] : nullptr, args.scratch);
    }));
  }
}

}  // namespace weft::onednn
