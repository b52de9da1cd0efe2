// SPDX-License-Identifier: Apache-2.0
// Convolution of 3x3 with stride 1 by Winograd's algorithm on tiles of 4x4 outputs: a quarter of
// the multiplications. Tiles of the image and the weights are transformed, multiplied as matrices
// of channels at each of 36 points, and the products transformed back. Tiles go in chunks and the
// output's channels in groups, so that what is between the transforms stays in the caches. oneDNN
// has this for AVX-512 only. This is forward, and the gradient of src, which is the same with other
// weights; winograd_weights.cc has the gradient of the weights.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/onednn/activation.h"
#include "kernels/onednn/block_gemm.h"
#include "kernels/onednn/offers.h"
#include "kernels/onednn/winograd_tiles.h"

namespace weft::onednn {
namespace {

using namespace winograd;  // NOLINT(google-build-using-namespace)

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
    OfferWinogradWeights(conv, op, device, facts, offers);
  }
}

}  // namespace weft::onednn
