// SPDX-License-Identifier: Apache-2.0
// The fully connected layer: dst[n][o] = bias[o] + sum over i of weights[o][i] * src[n][i].
#include <algorithm>
#include <cstdint>
#include <variant>

#include "kernels/ref/activation.h"
#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

void Forward(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const int64_t images = op.dst[0], in = op.srcs[0][1], out = op.dst[1];
  const bool bias = std::get<model::Linear>(op.layer).bias;
  parallel.For(out, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const float* weights = args.params[0] + o * in;  // [I]
      for (int64_t n = 0; n < images; ++n) {
        const float* src = args.srcs[0] + n * in;  // [I]
        double sum = bias ? args.params[1][o] : 0.0;
        for (int64_t i = 0; i < in; ++i) sum += static_cast<double>(weights[i]) * src[i];
        args.dst[n * out + o] = static_cast<float>(Activate(op.activation, sum));
      }
    }
  });
}

// Both gradients keep one sum for each input feature and walk the matrices row by row; the threads
// share out the features.

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const int64_t images = op.dst[0], in = op.srcs[0][1], out = op.dst[1];
  auto* sums = reinterpret_cast<double*>(args.scratch);  // [I]
  parallel.For(in, [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < images; ++n) {
      std::fill(sums + begin, sums + end, 0.0);
      for (int64_t o = 0; o < out; ++o) {
        const float* weights = args.params[0] + o * in;  // [I]
        const double d_dst = args.d_dst[n * out + o];
        for (int64_t i = begin; i < end; ++i) sums[i] += d_dst * weights[i];
      }
      std::copy(sums + begin, sums + end, args.d_srcs[0] + n * in + begin);
    }
  });
}

void BackwardWeights(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const int64_t images = op.dst[0], in = op.srcs[0][1], out = op.dst[1];
  auto* sums = reinterpret_cast<double*>(args.scratch);  // [I]
  parallel.For(in, [&](int64_t begin, int64_t end) {
    for (int64_t o = 0; o < out; ++o) {
      std::fill(sums + begin, sums + end, 0.0);
      for (int64_t n = 0; n < images; ++n) {
        const float* src = args.srcs[0] + n * in;  // [I]
        const double d_dst = args.d_dst[n * out + o];
        for (int64_t i = begin; i < end; ++i) sums[i] += d_dst * src[i];
      }
      std::copy(sums + begin, sums + end, args.d_params[0] + o * in + begin);
    }
  });
  if (!std::get<model::Linear>(op.layer).bias) return;
  for (int64_t o = 0; o < out; ++o) {
    double sum = 0;
    for (int64_t n = 0; n < images; ++n) sum += args.d_dst[n * out + o];
    args.d_params[1][o] = static_cast<float>(sum);
  }
}

}  // namespace

Prepared Prepare(const model::Linear& linear, const OpSpec& op, Role role, Parallel& parallel) {
  const size_t sums_bytes = linear.in_features * sizeof(double);
  switch (role) {
    case Role::kForward:
      return MakeKernel(op, parallel, Forward);
    case Role::kBackwardData:
      return MakeKernel(op, parallel, BackwardData, {.scratch_bytes = sums_bytes});
    case Role::kBackwardWeights:
      return MakeKernel(op, parallel, BackwardWeights,
                        {.scratch_bytes = sums_bytes, .reads_src = true});
  }
  return nullptr;
}

}  // namespace weft::ref
