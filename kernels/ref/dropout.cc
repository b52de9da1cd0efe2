// SPDX-License-Identifier: Apache-2.0
// Dropout. The mask is a function of the draw and of the place of a value in the plain layout, so
// nothing is saved for backward, and threads and layouts make no difference.
#include <algorithm>
#include <cstdint>
#include <variant>

#include "core/rng.h"
#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

// Forward takes src to dst as backward takes d_dst to d_src.
void Mask(const OpSpec& op, uint64_t draw, const float* from, float* to, Parallel& parallel) {
  const double probability = std::get<model::Dropout>(op.layer).probability;
  const double scale = 1 / (1 - probability);
  parallel.For(op.dst.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const bool kept = Rng(draw, static_cast<uint64_t>(i)).Fraction() >= probability;
      to[i] = kept ? static_cast<float>(from[i] * scale) : 0.0f;
    }
  });
}

void ForwardTraining(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  Mask(op, args.draw, args.srcs[0], args.dst, parallel);
}

void ForwardInference(const OpSpec& op, const KernelArgs& args, Parallel&) {
  if (args.dst != args.srcs[0]) std::copy_n(args.srcs[0], op.dst.elements(), args.dst);
}

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  Mask(op, args.draw, args.d_dst, args.d_srcs[0], parallel);
}

}  // namespace

Prepared Prepare(const model::Dropout&, const OpSpec& op, Role role, Parallel& parallel) {
  switch (role) {
    case Role::kForward:
      return MakeKernel(op, parallel, op.training ? ForwardTraining : ForwardInference,
                        {.in_place = true});
    case Role::kBackwardData:
      return MakeKernel(op, parallel, BackwardData, {.in_place = true});
    case Role::kBackwardWeights:
      break;
  }
  return nullptr;
}

}  // namespace weft::ref
