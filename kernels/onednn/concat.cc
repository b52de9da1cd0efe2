// SPDX-License-Identifier: Apache-2.0
// Tensors side by side along the channels. Where every source starts on a block of dst's channels,
// whole blocks are copied; where not, lanes are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

// One tensor's channels: which of dst they are, in how many blocks.
struct Part {
  int64_t first;
  int64_t channels;
  int64_t blocks;
};

struct Plan {
  Plan(const OpSpec& op, int block_size)
      : images(op.dst[0]),
        cells(op.dst.rank() == 4 ? op.dst[2] * op.dst[3] : 1),
        block(block_size) {
    int64_t first = 0;
    for (const Shape& src : op.srcs) {
      aligned = aligned && first % block == 0;
      parts.push_back({first, src[1], (src[1] + block - 1) / block});
      first += src[1];
    }
    dst = {0, first, (first + block - 1) / block};
  }

  // The place of cell 0 of a channel of `part`, counted within it.
  int64_t Place(const Part& part, int64_t image, int64_t channel) const {
    return (image * part.blocks + channel / block) * cells * block + channel % block;
  }

  int64_t images;
  int64_t cells;
  int64_t block;
  std::vector<Part> parts;
  Part dst{};
  bool aligned = true;
};

WEFT_WIDE inline void CopyLane(const Plan& plan, const float* from, float* to) {
  for (int64_t cell = 0; cell < plan.cells; ++cell) to[cell * plan.block] = from[cell * plan.block];
}

WEFT_WIDE inline void ClearLane(const Plan& plan, float* to) {
  for (int64_t cell = 0; cell < plan.cells; ++cell) to[cell * plan.block] = 0;
}

// Both copy one image of one source, to or from its channels of dst. Only the last source can have
// channels that fill up a block without dst being misaligned; they come along with it.

WEFT_WIDE inline void CopyIn(const Plan& plan, const Part& part, int64_t image, const float* src,
                             float* dst) {
  if (plan.aligned) {
    std::copy_n(src + plan.Place(part, image, 0), part.blocks * plan.cells * plan.block,
                dst + plan.Place(plan.dst, image, part.first));
    return;
  }
  for (int64_t c = 0; c < part.channels; ++c) {
    CopyLane(plan, src + plan.Place(part, image, c),
             dst + plan.Place(plan.dst, image, part.first + c));
  }
}

WEFT_WIDE inline void CopyOut(const Plan& plan, const Part& part, int64_t image, const float* d_dst,
                              float* d_src) {
  if (plan.aligned) {
    std::copy_n(d_dst + plan.Place(plan.dst, image, part.first),
                part.blocks * plan.cells * plan.block, d_src + plan.Place(part, image, 0));
    return;
  }
  for (int64_t c = 0; c < part.blocks * plan.block; ++c) {
    float* to = d_src + plan.Place(part, image, c);
    if (c < part.channels) {
      CopyLane(plan, d_dst + plan.Place(plan.dst, image, part.first + c), to);
    } else {
      ClearLane(plan, to);
    }
  }
}

void Forward(const Device& device, const Plan& plan, const KernelArgs& args) {
  ForWide(device, plan.images, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t image = begin; image < end; ++image) {
      for (size_t i = 0; i < plan.parts.size(); ++i) {
        CopyIn(plan, plan.parts[i], image, args.srcs[i], args.dst);
      }
      for (int64_t c = plan.dst.channels; c < plan.dst.blocks * plan.block; ++c) {
        ClearLane(plan, args.dst + plan.Place(plan.dst, image, c));
      }
    }
  });
}

void BackwardData(const Device& device, const Plan& plan, const KernelArgs& args) {
  ForWide(device, plan.images, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (int64_t image = begin; image < end; ++image) {
      for (size_t i = 0; i < plan.parts.size(); ++i) {
        if (args.d_srcs[i] == nullptr) continue;
        CopyOut(plan, plan.parts[i], image, args.d_dst, args.d_srcs[i]);
      }
    }
  });
}

}  // namespace

void Offer(const model::Concat&, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (role == Role::kBackwardWeights) return;
  const int block = BlockOf(op.dst, device);
  const Facts facts{.src_block = block, .dst_block = block};
  const auto body = role == Role::kForward ? Forward : BackwardData;
  offers.push_back(MakeKernel(facts, [&device, body, plan = Plan(op, block)](
                                         const KernelArgs& args) { body(device, plan, args); }));
}

}  // namespace weft::onednn
