// SPDX-License-Identifier: Apache-2.0
// The fully connected layer: three products on its plain weights [O][I], of which no second copy is
// made. The largest are hundreds of megabytes, so where they are the matrix that the Arm Compute
// Library would pack whole, only our own product is offered.
#include <cstddef>
#include <cstdint>

#include "kernels/acl/activation.h"
#include "kernels/acl/offers.h"

namespace weft::acl {
namespace {

struct Sizes {
  int64_t images;
  int64_t in;
  int64_t out;
  bool has_bias;
};

template <Activation kActivation>
void Finish(const Sizes& s, const KernelArgs& args) {
  if (!s.has_bias && kActivation == Activation::kNone) return;
  for (int64_t n = 0; n < s.images; ++n) {
    float* dst = args.dst + n * s.out;
    if (s.has_bias) {
      const float* bias = args.params[1];
      for (int64_t o = 0; o < s.out; ++o) dst[o] += bias[o];
    }
    for (int64_t o = 0; o < s.out; ++o) dst[o] = Activate<kActivation>(dst[o]);
  }
}

}  // namespace

void Offer(const model::Linear& linear, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  const Sizes s{op.dst[0], linear.in_features, linear.out_features, linear.bias};
  const Gemm& gemm = *device.neon;
  Facts facts{.name = gemm.name()};
  switch (role) {
    case Role::kForward: {
      const GemmShape shape{.rows = s.images, .columns = s.out, .depth = s.in};
      const auto finish = WithActivation(
          op.activation, []<Activation kActivation>() { return &Finish<kActivation>; });
      facts.scratch_bytes = gemm.scratch_bytes(shape);
      offers.push_back(MakeKernel(facts, [=, &gemm](const KernelArgs& args) {
        gemm.Run(shape, {args.srcs[0], s.in}, Transposed(args.params[0], s.in), {args.dst, s.out},
                 Write::kOver, args.scratch);
        finish(s, args);
      }));
      return;
    }
    case Role::kBackwardData: {
      const GemmShape shape{.rows = s.images, .columns = s.in, .depth = s.out};
      facts.scratch_bytes = gemm.scratch_bytes(shape);
      offers.push_back(MakeKernel(facts, [=, &gemm](const KernelArgs& args) {
        gemm.Run(shape, {args.d_dst, s.out}, {args.params[0], s.in}, {args.d_srcs[0], s.in},
                 Write::kOver, args.scratch);
      }));
      return;
    }
    case Role::kBackwardWeights: {
      const GemmShape shape{.rows = s.out, .columns = s.in, .depth = s.images};
      facts.scratch_bytes = gemm.scratch_bytes(shape);
      facts.reads_src = true;
      offers.push_back(MakeKernel(facts, [=, &gemm](const KernelArgs& args) {
        gemm.Run(shape, Transposed(args.d_dst, s.out), {args.srcs[0], s.in},
                 {args.d_params[0], s.in}, Write::kOver, args.scratch);
        if (!s.has_bias) return;
        for (int64_t o = 0; o < s.out; ++o) {
          double sum = 0;
          for (int64_t n = 0; n < s.images; ++n) sum += args.d_dst[n * s.out + o];
          args.d_params[1][o] = static_cast<float>(sum);
        }
      }));
      return;
    }
  }
}

}  // namespace weft::acl
