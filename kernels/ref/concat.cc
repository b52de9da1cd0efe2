// SPDX-License-Identifier: Apache-2.0
// Tensors side by side along the channels. In each image of dst, every source is one run.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/ref/op_kernel.h"

namespace weft::ref {
namespace {

// Calls run(source, in_source, in_dst, count) for every image of every source.
template <typename CopyRun>
void ForEachRun(const OpSpec& op, Parallel& parallel, const CopyRun& run) {
  const int64_t dst_image = op.dst.elements() / op.dst[0];
  parallel.For(op.dst[0], [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      int64_t in_dst = n * dst_image;
      for (size_t source = 0; source < op.srcs.size(); ++source) {
        const int64_t image = op.srcs[source].elements() / op.dst[0];
        run(source, n * image, in_dst, image);
        in_dst += image;
      }
    }
  });
}

void Forward(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  ForEachRun(op, parallel, [&](size_t source, int64_t in_source, int64_t in_dst, int64_t count) {
    std::copy_n(args.srcs[source] + in_source, count, args.dst + in_dst);
  });
}

void BackwardData(const OpSpec& op, const KernelArgs& args, Parallel& parallel) {
  ForEachRun(op, parallel, [&](size_t source, int64_t in_source, int64_t in_dst, int64_t count) {
    if (args.d_srcs[source] == nullptr) return;
    std::copy_n(args.d_dst + in_dst, count, args.d_srcs[source] + in_source);
  });
}

}  // namespace

Prepared Prepare(const model::Concat&, const OpSpec& op, Role role, Parallel& parallel) {
  switch (role) {
    case Role::kForward:
      return MakeKernel(op, parallel, Forward);
    case Role::kBackwardData:
      return MakeKernel(op, parallel, BackwardData);
    case Role::kBackwardWeights:
      break;
  }
  return nullptr;
}

}  // namespace weft::ref
