// SPDX-License-Identifier: Apache-2.0
// Tensors from one channel block to another, and flattening, which is the same thing: features are
// the channels and cells of an image in the plain layout.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

bool IsBlock(int block) { return block == 1 || block == 8 || block == 16; }

// Whether both blocks lay the tensor out in the same order, with nothing to fill up.
bool SameOrder(const Shape& shape, int from_block, int to_block) {
  if (from_block == to_block || shape.rank() != 4) return true;
  return shape[2] * shape[3] == 1 && shape[1] % from_block == 0 && shape[1] % to_block == 0;
}

void Copy(const Device& device, int64_t count, const float* from, float* to) {
  if (from == to) return;
  ForWideFloats(device, count, [&](int64_t begin, int64_t end) WEFT_WIDE {
    std::copy(from + begin, from + end, to + begin);
  });
}

}  // namespace

std::unique_ptr<Kernel> MakeReorderKernel(const Shape& shape, int from_block, int to_block,
                                          const Device& device) {
  if (!IsBlock(from_block) || !IsBlock(to_block)) return nullptr;
  const Facts facts{.name = "onednn:reorder", .src_block = from_block, .dst_block = to_block};
  if (SameOrder(shape, from_block, to_block)) {
    const int64_t count = ActivationElements(shape, from_block);
    return MakeKernel(facts, [&device, count](const KernelArgs& args) {
      Copy(device, count, args.srcs[0], args.dst);
    });
  }
  Call reorder =
      MakeReorder(device, ActivationDesc(shape, from_block), ActivationDesc(shape, to_block));
  return MakeKernel(facts, [reorder = std::move(reorder)](const KernelArgs& args) {
    reorder({args.srcs[0], args.dst});
  });
}

void Offer(const model::Flatten&, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (role == Role::kBackwardWeights) return;
  const Shape& image = op.srcs[0];
  const int block = BlockOf(image, device);
  const bool forward = role == Role::kForward;
  Facts facts{.name = "onednn:reorder", .src_block = block};
  if (SameOrder(image, block, 1)) {
    facts.in_place = true;
    const int64_t count = image.elements();
    offers.push_back(MakeKernel(facts, [&device, count, forward](const KernelArgs& args) {
      Copy(device, count, forward ? args.srcs[0] : args.d_dst, forward ? args.dst : args.d_srcs[0]);
    }));
    return;
  }
  const auto blocked = ActivationDesc(image, block);
  const auto plain = ActivationDesc(image, 1);
  if (forward) {
    offers.push_back(
        MakeKernel(facts, [call = MakeReorder(device, blocked, plain)](const KernelArgs& args) {
          call({args.srcs[0], args.dst});
        }));
  } else {
    offers.push_back(
        MakeKernel(facts, [call = MakeReorder(device, plain, blocked)](const KernelArgs& args) {
          call({args.d_dst, args.d_srcs[0]});
        }));
  }
}

}  // namespace weft::onednn
