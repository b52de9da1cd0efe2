// SPDX-License-Identifier: Apache-2.0
// Relu and Relu6 standing alone. Zero stays zero, so the channels that fill up a block take care of
// themselves.
#include "kernels/onednn/activation.h"

#include <cstdint>

#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

template <Activation kActivation>
void OfferActivation(const OpSpec& op, Role role, const Device& device, Offers& offers) {
  const int block = BlockOf(op.dst, device);
  const int64_t count = ActivationElements(op.dst, block);
  Facts facts{.src_block = block, .dst_block = block, .in_place = true};
  if (role == Role::kForward) {
    offers.push_back(MakeKernel(facts, [&device, count](const KernelArgs& args) {
      const float* src = args.srcs[0];
      float* dst = args.dst;
      ForWideFloats(device, count, [=](int64_t begin, int64_t end) WEFT_WIDE {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) dst[i] = Activate<kActivation>(src[i]);
      });
    }));
  } else if (role == Role::kBackwardData) {
    facts.reads_dst = true;
    offers.push_back(MakeKernel(facts, [&device, count](const KernelArgs& args) {
      const float* dst = args.dst;
      const float* d_dst = args.d_dst;
      float* d_src = args.d_srcs[0];
      ForWideFloats(device, count, [=](int64_t begin, int64_t end) WEFT_WIDE {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) {
          d_src[i] = ActivateBackward<kActivation>(dst[i], d_dst[i]);
        }
      });
    }));
  }
}

}  // namespace

void Offer(const model::Relu&, const OpSpec& op, Role role, const Device& device, Offers& offers) {
  OfferActivation<Activation::kRelu>(op, role, device, offers);
}

void Offer(const model::Relu6&, const OpSpec& op, Role role, const Device& device, Offers& offers) {
  OfferActivation<Activation::kRelu6>(op, role, device, offers);
}

}  // namespace weft::onednn
