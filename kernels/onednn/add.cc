// SPDX-License-Identifier: Apache-2.0
// The sum of two or more tensors of one shape, with an activation joined to it. Each of them gets
// the whole gradient.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/onednn/activation.h"
#include "kernels/onednn/offers.h"
#include "kernels/onednn/wide.h"

namespace weft::onednn {
namespace {

template <Activation kActivation>
void AddAll(const Device& device, int64_t count, const KernelArgs& args) {
  ForWideFloats(device, count, [&](int64_t begin, int64_t end) WEFT_WIDE {
    // The first two in one go; further ones, which are rare, a piece at a time while it is in the
    // cache.
    constexpr int64_t kPiece = 1024;
    const float* a = args.srcs[0];
    const float* b = args.srcs[1];
    float* dst = args.dst;
    for (; begin < end; begin += kPiece) {
      const int64_t stop = std::min(begin + kPiece, end);
      const size_t sources = args.srcs.size();
      if (sources == 2) {
#pragma omp simd
        for (int64_t i = begin; i < stop; ++i) dst[i] = Activate<kActivation>(a[i] + b[i]);
        continue;
      }
#pragma omp simd
      for (int64_t i = begin; i < stop; ++i) dst[i] = a[i] + b[i];
      for (size_t source = 2; source < sources; ++source) {
        const float* c = args.srcs[source];
#pragma omp simd
        for (int64_t i = begin; i < stop; ++i) dst[i] += c[i];
      }
#pragma omp simd
      for (int64_t i = begin; i < stop; ++i) dst[i] = Activate<kActivation>(dst[i]);
    }
  });
}

void HandOut(const Device& device, int64_t count, const KernelArgs& args) {
  ForWideFloats(device, count, [&](int64_t begin, int64_t end) WEFT_WIDE {
    for (float* d_src : args.d_srcs) {
      if (d_src == nullptr || d_src == args.d_dst) continue;
      std::copy(args.d_dst + begin, args.d_dst + end, d_src + begin);
    }
  });
}

}  // namespace

void Offer(const model::Add&, const OpSpec& op, Role role, const Device& device, Offers& offers) {
  const int block = BlockOf(op.dst, device);
  const int64_t count = ActivationElements(op.dst, block);
  const Facts facts{.src_block = block, .dst_block = block, .in_place = true};
  if (role == Role::kForward) {
    const auto body = WithActivation(op.activation,
                                     []<Activation kActivation>() { return &AddAll<kActivation>; });
    offers.push_back(MakeKernel(
        facts, [&device, count, body](const KernelArgs& args) { body(device, count, args); }));
  } else if (role == Role::kBackwardData) {
    offers.push_back(MakeKernel(
        facts, [&device, count](const KernelArgs& args) { HandOut(device, count, args); }));
  }
}

}  // namespace weft::onednn
