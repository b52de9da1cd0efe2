// SPDX-License-Identifier: Apache-2.0
// Dropout. The mask is a function of the draw and of the place of a value in the plain layout, as
// in every backend, so nothing is saved for backward and layouts make no difference.
#include <algorithm>
#include <cstdint>

#include "core/rng.h"
#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

// Where a tensor's values are, in rows: a row is one block of channels of one image, cell by cell.
// Features are channels of one cell, in blocks of one.
struct Rows {
  Rows(const Shape& shape, int block_size)
      : images(shape[0]),
        channels(shape[1]),
        cells(shape.rank() == 4 ? shape[2] * shape[3] : 1),
        block(block_size),
        blocks((channels + block - 1) / block) {}

  int64_t images;
  int64_t channels;
  int64_t cells;
  int64_t block;
  int64_t blocks;
};

// Forward takes src to dst as backward takes d_dst to d_src.
void Mask(const Device& device, const Rows& rows, double probability, uint64_t draw,
          const float* from, float* to) {
  const double scale = 1 / (1 - probability);
  ForWide(device, rows.images * rows.blocks, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / rows.blocks;
      const int64_t first_channel = row % rows.blocks * rows.block;
      for (int64_t cell = 0; cell < rows.cells; ++cell) {
        for (int64_t lane = 0; lane < rows.block; ++lane) {
          const int64_t channel = first_channel + lane;
          const int64_t at = (row * rows.cells + cell) * rows.block + lane;
          const int64_t plain = (image * rows.channels + channel) * rows.cells + cell;
          const bool kept = channel < rows.channels &&
                            Rng(draw, static_cast<uint64_t>(plain)).Fraction() >= probability;
          to[at] = kept ? static_cast<float>(from[at] * scale) : 0.0f;
        }
      }
    }
  });
}

}  // namespace

void Offer(const model::Dropout& dropout, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (role == Role::kBackwardWeights) return;
  const int block = BlockOf(op.dst, device);
  const Rows rows(op.dst, block);
  const Facts facts{.src_block = block, .dst_block = block, .in_place = true};
  const double probability = dropout.probability;
  if (!op.training) {
    const int64_t count = ActivationElements(op.dst, block);
    offers.push_back(MakeKernel(facts, [count](const KernelArgs& args) {
      if (args.dst != args.srcs[0]) std::copy_n(args.srcs[0], count, args.dst);
    }));
  } else if (role == Role::kForward) {
    offers.push_back(MakeKernel(facts, [&device, rows, probability](const KernelArgs& args) {
      Mask(device, rows, probability, args.draw, args.srcs[0], args.dst);
    }));
  } else {
    offers.push_back(MakeKernel(facts, [&device, rows, probability](const KernelArgs& args) {
      Mask(device, rows, probability, args.draw, args.d_dst, args.d_srcs[0]);
    }));
  }
}

}  // namespace weft::onednn
