// SPDX-License-Identifier: Apache-2.0
// The sum of two or more tensors of one shape. Each of them gets the whole gradient.
#include <algorithm>
#include <cstdint>

#include "kernels/ref/activation.h"
#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

void Forward(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  parallel.For(op.dst.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double sum = 0;
      for (const float* src : args.srcs) sum += src[i];
      args.dst[i] = static_cast<float>(Activate(op.activation, sum));
    }
  });
}

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  parallel.For(op.dst.elements(), [&](int64_t begin, int64_t end) {
    for (float* d_src : args.d_srcs) {
      if (d_src == nullptr || d_src == args.d_dst) continue;
      std::copy(args.d_dst + begin, args.d_dst + end, d_src + begin);
    }
  });
}

}  // namespace

Prepared Prepare(const model::Add&, const OpSpec& op, Role role, Parallel& parallel) {
  switch (role) {
    case Role::kForward:
      return MakeKernel(op, parallel, Forward, {.in_place = true});
    case Role::kBackwardData:
      return MakeKernel(op, parallel, BackwardData, {.in_place = true});
    case Role::kBackwardWeights:
      break;
  }
  return nullptr;
}

}  // namespace weft::ref
