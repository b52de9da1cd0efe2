// SPDX-License-Identifier: Apache-2.0
// The gradient of the weights of a 3x3 convolution by Winograd's algorithm: tiles of d_dst are the
// filters, and the weights the outputs.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/onednn/block_gemm.h"
#include "kernels/onednn/offers.h"
#include "kernels/onednn/winograd_tiles.h"

namespace weft::onednn {
namespace {

using namespace winograd;  // NOLINT(google-build-using-namespace)

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

}  // namespace

void OfferWinogradWeights(const model::Conv2d& conv, const OpSpec& op, const Device& device,
                          Facts facts, Offers& offers) {
  const Tiling tiling(op.srcs[0], op.dst, conv.padding, device);
  facts.scratch_bytes = Outputs(tiling).end * sizeof(float);
  facts.reads_src = true;
  const auto body = device.block == 16 ? BackwardWeights<16> : BackwardWeights<8>;
  offers.push_back(MakeKernel(facts, [&device, tiling, body](const KernelArgs& args) {
    body(device, tiling, args.srcs[0], args.d_dst, args.d_params[0],
         args.d_params.size() > 1 ? args.d_params[1] : nullptr, args.scratch);
  }));
}

}  // namespace weft::onednn
