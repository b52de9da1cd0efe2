// SPDX-License-Identifier: Apache-2.0
// Relu and Relu6 standing alone. Backward is also what the network runs, in place, for the
// activations joined to Conv2d, Linear and Add.
#include "kernels/ref/activation.h"

#include <cstdint>
#include <variant>

#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

Activation ActivationOf(const OpSpec& op) {
  return std::holds_alternative<model::Relu6>(op.layer) ? Activation::kRelu6 : Activation::kRelu;
}

void Forward(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Activation activation = ActivationOf(op);
  const float* src = args.srcs[0];
  parallel.For(op.dst.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      args.dst[i] = static_cast<float>(Activate(activation, src[i]));
    }
  });
}

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  const Activation activation = ActivationOf(op);
  float* d_src = args.d_srcs[0];
  parallel.For(op.dst.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      d_src[i] = ActivateBackward(activation, args.dst[i], args.d_dst[i]);
    }
  });
}

Prepared PrepareEither(const OpSpec& op, Role role, Parallel& parallel) {
  switch (role) {
    case Role::kForward:
      return MakeKernel(op, parallel, Forward, {.in_place = true});
    case Role::kBackwardData:
      return MakeKernel(op, parallel, BackwardData, {.reads_dst = true, .in_place = true});
    case Role::kBackwardWeights:
      break;
  }
  return nullptr;
}

}  // namespace

Prepared Prepare(const model::Relu&, const OpSpec& op, Role role, Parallel& parallel) {
  return PrepareEither(op, role, parallel);
}

Prepared Prepare(const model::Relu6&, const OpSpec& op, Role role, Parallel& parallel) {
  return PrepareEither(op, role, parallel);
}

}  // namespace weft::ref
