// SPDX-License-Identifier: Apache-2.0
// Convolution whose groups have one input channel each. There is no matrix in it worth the name:
// the loops go over whole rows of a plane, one cell of the kernel at a time.
#include <algorithm>
#include <cstdint>

#include "kernels/acl/activation.h"
#include "kernels/acl/offers.h"
#include "kernels/acl/sums.h"
#include "kernels/acl/window.h"

namespace weft::acl {
namespace {

// Calls tap(kh, kw, weight's place) for each cell of the kernel.
template <typename Tap>
void ForTaps(const Geometry& g, const Tap& tap) {
  for (int64_t kh = 0; kh < g.h.kernel; ++kh) {
    for (int64_t kw = 0; kw < g.w.kernel; ++kw) tap(kh, kw, kh * g.w.kernel + kw);
  }
}

// kStride is the stride along a row, or 0 for any: strides of 1 and 2 become vector code.
template <int kStride>
int64_t StrideOf(const Geometry& g) {
  return kStride > 0 ? kStride : g.w.stride;
}

template <int kStride, Activation kActivation>
void Forward(const Geometry& g, bool has_bias, const KernelArgs& args, Parallel& parallel) {
  const int64_t step = StrideOf<kStride>(g);
  parallel.For(g.images * g.out_channels, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t o = plane % g.out_channels;
      const int64_t i = plane / g.out_channels * g.in_channels + o / g.group_out;
      const float* src = args.srcs[0] + i * g.in_plane();  // [H][W]
      float* dst = args.dst + plane * g.out_plane();       // [OH][OW]
      const float* weights = args.params[0] + o * g.taps();
      std::fill_n(dst, g.out_plane(), has_bias ? args.params[1][o] : 0.0f);
      ForTaps(g, [&](int64_t kh, int64_t kw, int64_t tap) {
        const float weight = weights[tap];
        g.RowsOfTap(kh, kw, [&](int64_t out, int64_t in, int64_t count) {
          const float* __restrict from = src + in;
          float* __restrict to = dst + out;
          for (int64_t x = 0; x < count; ++x) to[x] += weight * from[x * step];
        });
      });
      if constexpr (kActivation != Activation::kNone) {
        for (int64_t x = 0; x < g.out_plane(); ++x) dst[x] = Activate<kActivation>(dst[x]);
      }
    }
  });
}

template <int kStride>
void BackwardData(const Geometry& g, const KernelArgs& args, Parallel& parallel) {
  const int64_t step = StrideOf<kStride>(g);
  parallel.For(g.images * g.in_channels, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t i = plane % g.in_channels;
      float* d_src = args.d_srcs[0] + plane * g.in_plane();  // [H][W]
      std::fill_n(d_src, g.in_plane(), 0.0f);
      for (int64_t o = i * g.group_out; o < (i + 1) * g.group_out; ++o) {
        const float* weights = args.params[0] + o * g.taps();
        const float* d_dst =
            args.d_dst + (plane / g.in_channels * g.out_channels + o) * g.out_plane();  // [OH][OW]
        ForTaps(g, [&](int64_t kh, int64_t kw, int64_t tap) {
          const float weight = weights[tap];
          g.RowsOfTap(kh, kw, [&](int64_t out, int64_t in, int64_t count) {
            const float* __restrict from = d_dst + out;
            float* __restrict to = d_src + in;
            for (int64_t x = 0; x < count; ++x) to[x * step] += weight * from[x];
          });
        });
      }
    }
  });
}

template <int kStride>
void BackwardWeights(const Geometry& g, bool has_bias, const KernelArgs& args, Parallel& parallel) {
  const int64_t step = StrideOf<kStride>(g);
  parallel.For(g.out_channels, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      ForTaps(g, [&](int64_t kh, int64_t kw, int64_t tap) {
        double sum = 0;
        for (int64_t n = 0; n < g.images; ++n) {
          const float* src =
              args.srcs[0] + (n * g.in_channels + o / g.group_out) * g.in_plane();  // [H][W]
          const float* d_dst = args.d_dst + (n * g.out_channels + o) * g.out_plane();
          g.RowsOfTap(kh, kw, [&](int64_t out, int64_t in, int64_t count) {
            float row = 0;
            for (int64_t x = 0; x < count; ++x) row += d_dst[out + x] * src[in + x * step];
            sum += row;
          });
        }
        args.d_params[0][o * g.taps() + tap] = static_cast<float>(sum);
      });
    }
  });
  if (has_bias) SumChannels(g, args.d_dst, args.d_params[1], parallel);
}

template <int kStride>
void OfferStride(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
                 Offers& offers) {
  const Geometry g(conv, op);
  Parallel& parallel = device.parallel;
  const bool has_bias = conv.bias;
  switch (role) {
    case Role::kForward: {
      const auto body = WithActivation(
          op.activation, []<Activation kActivation>() { return &Forward<kStride, kActivation>; });
      offers.push_back(MakeKernel(
          Facts{}, [=, &parallel](const KernelArgs& args) { body(g, has_bias, args, parallel); }));
      break;
    }
    case Role::kBackwardData:
      offers.push_back(MakeKernel(Facts{}, [=, &parallel](const KernelArgs& args) {
        BackwardData<kStride>(g, args, parallel);
      }));
      break;
    case Role::kBackwardWeights:
      offers.push_back(MakeKernel(Facts{.reads_src = true}, [=, &parallel](const KernelArgs& args) {
        BackwardWeights<kStride>(g, has_bias, args, parallel);
      }));
      break;
  }
}

}  // namespace

void OfferDepthwise(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
                    Offers& offers) {
  switch (conv.stride.w) {
    case 1:
      return OfferStride<1>(conv, op, role, device, offers);
    case 2:
      return OfferStride<2>(conv, op, role, device, offers);
    default:
      return OfferStride<0>(conv, op, role, device, offers);
  }
}

}  // namespace weft::acl
