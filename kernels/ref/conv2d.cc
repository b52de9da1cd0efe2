// SPDX-License-Identifier: Apache-2.0
// Convolution: each output channel sums, over the input channels of its group and the cells of the
// kernel, weight times image. A tap is one weight of one pair of channels; whatever the role, it
// connects the same cells of the output plane and of the input plane.
#include <algorithm>
#include <cstdint>
#include <variant>

#include "kernels/ref/activation.h"
#include "kernels/ref/op_kernel.h"
#include "kernels/ref/window.h"

namespace weft::ref {
namespace {

struct Geometry {
  explicit Geometry(const OpSpec& op) : Geometry(op, std::get<model::Conv2d>(op.layer)) {}
  Geometry(const OpSpec& op, const model::Conv2d& conv)
      : images(op.dst[0]),
        in_channels(conv.in_channels),
        out_channels(conv.out_channels),
        group_in(conv.in_channels / conv.groups),
        group_out(conv.out_channels / conv.groups),
        window(WindowOf(op.srcs[0], op.dst, conv.kernel, conv.stride, conv.padding, conv.dilation)),
        in_plane(window.h.in * window.w.in),
        out_plane(window.h.out * window.w.out),
        taps(window.h.kernel * window.w.kernel),
        bias(conv.bias) {}

  // The first input channel that output channel `o` sees, and the first output channel that sees
  // input channel `i`.
  int64_t FirstIn(int64_t o) const { return o / group_out * group_in; }
  int64_t FirstOut(int64_t i) const { return i / group_in * group_out; }

  // Calls row(tap, out, in, count) for every run of neighbouring outputs that see the image through
  // one tap: outputs out, out + 1, .. and inputs in, in + stride, .., as places in their planes.
  template <typename Row>
  void ForEachRow(const Row& row) const {
    for (int64_t kh = 0; kh < window.h.kernel; ++kh) {
      const Run rows = window.h.WindowsInside(kh);
      for (int64_t kw = 0; kw < window.w.kernel; ++kw) {
        const Run columns = window.w.WindowsInside(kw);
        if (columns.size() == 0) continue;
        for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
          row(kh * window.w.kernel + kw, oh * window.w.out + columns.begin,
              window.h.Cell(oh, kh) * window.w.in + window.w.Cell(columns.begin, kw),
              columns.size());
        }
      }
    }
  }

  int64_t images;
  int64_t in_channels;
  int64_t out_channels;
  int64_t group_in;   // channels of one group
  int64_t group_out;  // channels of one group
  Window window;
  int64_t in_plane;
  int64_t out_plane;
  int64_t taps;
  bool bias;
};

void Forward(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Geometry g(op);
  const int64_t step = g.window.w.stride;
  const float* weights = args.params[0];                 // [O][I/groups][KH][KW]
  auto* sums = reinterpret_cast<double*>(args.scratch);  // [O][OH][OW], of one image
  for (int64_t n = 0; n < g.images; ++n) {
    const float* image = args.srcs[0] + n * g.in_channels * g.in_plane;  // [I][H][W]
    float* dst = args.dst + n * g.out_channels * g.out_plane;            // [O][OH][OW]
    parallel.For(g.out_channels, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        double* sum = sums + o * g.out_plane;
        std::fill_n(sum, g.out_plane, g.bias ? args.params[1][o] : 0.0);
        for (int64_t i = 0; i < g.group_in; ++i) {
          const float* src = image + (g.FirstIn(o) + i) * g.in_plane;
          const float* weight = weights + (o * g.group_in + i) * g.taps;
          g.ForEachRow([&](int64_t tap, int64_t out, int64_t in, int64_t count) {
            const double w = weight[tap];
            for (int64_t x = 0; x < count; ++x) sum[out + x] += w * src[in + x * step];
          });
        }
        for (int64_t x = 0; x < g.out_plane; ++x) {
          dst[o * g.out_plane + x] = static_cast<float>(Activate(op.activation, sum[x]));
        }
      }
    });
  }
}

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Geometry g(op);
  const int64_t step = g.window.w.stride;
  const float* weights = args.params[0];                 // [O][I/groups][KH][KW]
  auto* sums = reinterpret_cast<double*>(args.scratch);  // [I][H][W], of one image
  for (int64_t n = 0; n < g.images; ++n) {
    const float* d_image = args.d_dst + n * g.out_channels * g.out_plane;  // [O][OH][OW]
    float* d_src = args.d_srcs[0] + n * g.in_channels * g.in_plane;        // [I][H][W]
    parallel.For(g.in_channels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* sum = sums + i * g.in_plane;
        std::fill_n(sum, g.in_plane, 0.0);
        for (int64_t o = g.FirstOut(i); o < g.FirstOut(i) + g.group_out; ++o) {
          const float* d_dst = d_image + o * g.out_plane;
          const float* weight = weights + (o * g.group_in + i % g.group_in) * g.taps;
          g.ForEachRow([&](int64_t tap, int64_t out, int64_t in, int64_t count) {
            const double w = weight[tap];
            for (int64_t x = 0; x < count; ++x) sum[in + x * step] += w * d_dst[out + x];
          });
        }
        std::copy_n(sum, g.in_plane, d_src + i * g.in_plane);
      }
    });
  }
}

void BackwardBias(const Geometry& g, const float* d_dst, float* d_bias) {
  for (int64_t o = 0; o < g.out_channels; ++o) {
    double sum = 0;
    for (int64_t n = 0; n < g.images; ++n) {
      const float* plane = d_dst + (n * g.out_channels + o) * g.out_plane;
      for (int64_t x = 0; x < g.out_plane; ++x) sum += plane[x];
    }
    d_bias[o] = static_cast<float>(sum);
  }
}

void BackwardWeights(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Geometry g(op);
  const int64_t step = g.window.w.stride;
  float* d_weights = args.d_params[0];                   // [O][I/groups][KH][KW]
  auto* sums = reinterpret_cast<double*>(args.scratch);  // [O][KH][KW]
  parallel.For(g.out_channels, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      double* sum = sums + o * g.taps;
      for (int64_t i = 0; i < g.group_in; ++i) {
        std::fill_n(sum, g.taps, 0.0);
        for (int64_t n = 0; n < g.images; ++n) {
          const float* src = args.srcs[0] + (n * g.in_channels + g.FirstIn(o) + i) * g.in_plane;
          const float* d_dst = args.d_dst + (n * g.out_channels + o) * g.out_plane;
          g.ForEachRow([&](int64_t tap, int64_t out, int64_t in, int64_t count) {
            double row = 0;
            for (int64_t x = 0; x < count; ++x) {
              row += static_cast<double>(d_dst[out + x]) * src[in + x * step];
            }
            sum[tap] += row;
          });
        }
        std::copy_n(sum, g.taps, d_weights + (o * g.group_in + i) * g.taps);
      }
    }
  });
  if (g.bias) BackwardBias(g, args.d_dst, args.d_params[1]);
}

}  // namespace

Prepared Prepare(const model::Conv2d&, const OpSpec& op, Role role, Parallel& parallel) {
  const Geometry g(op);
  switch (role) {
    case Role::kForward:
      return MakeKernel(
          op, parallel, Forward,
          {.scratch_bytes = static_cast<size_t>(g.out_channels * g.out_plane) * sizeof(double)});
    case Role::kBackwardData:
      return MakeKernel(
          op, parallel, BackwardData,
          {.scratch_bytes = static_cast<size_t>(g.in_channels * g.in_plane) * sizeof(double)});
    case Role::kBackwardWeights:
      return MakeKernel(
          op, parallel, BackwardWeights,
          {.scratch_bytes = static_cast<size_t>(g.out_channels * g.taps) * sizeof(double),
           .reads_src = true});
  }
  return nullptr;
}

}  // namespace weft::ref
