// SPDX-License-Identifier: Apache-2.0
// [N][C][H][W] as [N][C*H*W]. In the plain layout the values stay in order.
#include <algorithm>

#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

void Forward(const OpSpec& op, const KernelArgs& args, Parallel&) {
  if (args.dst != args.srcs[0]) std::copy_n(args.srcs[0], op.dst.elements(), args.dst);
}

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel&) {
  if (args.d_srcs[0] != args.d_dst) std::copy_n(args.d_dst, op.dst.elements(), args.d_srcs[0]);
}

}  // namespace

Prepared Prepare(const model::Flatten&, const OpSpec& op, Role role, Parallel& parallel) {
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
