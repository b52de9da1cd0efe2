// SPDX-License-Identifier: Apache-2.0
// Convolution as matrix products over columns of image cells, a chunk of outputs at a time. Where a
// chunk is part of one image, its outputs are used where they lie; where it is several images, they
// are brought side by side. Kernels of 1x1 that move by 1 need no columns: the image is the matrix.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/acl/activation.h"
#include "kernels/acl/columns.h"
#include "kernels/acl/offers.h"
#include "kernels/acl/sums.h"

namespace weft::acl {
namespace {

class Convolution {
 public:
  Convolution(const model::Conv2d& conv, const OpSpec& op, const Device& device, const Gemm& gemm)
      : g_(conv, op),
        has_bias_(conv.bias),
        activation_(op.activation),
        parallel_(device.parallel),
        gemm_(gemm),
        chunks_(ChunksOf(g_)),
        depth_(ColumnDepth(g_)) {
    const Chunk& largest = chunks_.front();
    const bool in_one_image = largest.images == 1;
    if (!g_.is_pointwise() || !in_one_image) column_floats_ = depth_ * largest.columns(g_);
    if (!in_one_image) output_floats_ = g_.group_out * largest.columns(g_);
  }

  size_t scratch_bytes(Role role) const {
    return AlignedFloats() * sizeof(float) +
           gemm_.scratch_bytes(ShapeOf(role, chunks_.front().columns(g_)));
  }

  void Forward(const KernelArgs& args) const {
    for (const Chunk& chunk : chunks_) {
      for (int64_t group = 0; group < g_.groups; ++group) {
        const ConstMatrix columns = Columns(chunk, group, args);
        Matrix dst{args.dst + OutputPlace(chunk, group), g_.out_plane()};
        if (chunk.images > 1) dst = {Outputs(args), chunk.columns(g_)};
        gemm_.Run(ShapeOf(Role::kForward, chunk.columns(g_)), Weights(args, group), columns, dst,
                  Write::kOver, GemmScratch(args));
        WithActivation(activation_, [&]<Activation kActivation>() {
          Finish<kActivation>(chunk, group, dst, args);
        });
      }
    }
  }

  void BackwardData(const KernelArgs& args) const {
    for (const Chunk& chunk : chunks_) {
      for (int64_t group = 0; group < g_.groups; ++group) {
        const ConstMatrix d_dst = OutputGradients(chunk, group, args);
        const bool in_place = g_.is_pointwise() && chunk.images == 1;
        const Matrix d_columns =
            in_place ? Matrix{args.d_srcs[0] + InputPlace(chunk, group), g_.in_plane()}
                     : Matrix{ColumnRoom(args), chunk.columns(g_)};
        gemm_.Run(ShapeOf(Role::kBackwardData, chunk.columns(g_)),
                  Weights(args, group).Transposed(), d_dst, d_columns, Write::kOver,
                  GemmScratch(args));
        if (!in_place) {
          AddColumns(g_, chunk, group, d_columns.data, args.d_srcs[0], parallel_);
        }
      }
    }
  }

  void BackwardWeights(const KernelArgs& args) const {
    for (const Chunk& chunk : chunks_) {
      const Write write = &chunk == &chunks_.front() ? Write::kOver : Write::kAdd;
      for (int64_t group = 0; group < g_.groups; ++group) {
        const ConstMatrix columns = Columns(chunk, group, args);
        const ConstMatrix d_dst = OutputGradients(chunk, group, args);
        const Matrix d_weights{args.d_params[0] + group * g_.group_out * depth_, depth_};
        gemm_.Run(ShapeOf(Role::kBackwardWeights, chunk.columns(g_)), d_dst, columns.Transposed(),
                  d_weights, write, GemmScratch(args));
      }
    }
    if (has_bias_) SumChannels(g_, args.d_dst, args.d_params[1], parallel_);
  }

 private:
  GemmShape ShapeOf(Role role, int64_t columns) const {
    switch (role) {
      case Role::kForward:
        return {.rows = g_.group_out, .columns = columns, .depth = depth_};
      case Role::kBackwardData:
        return {.rows = depth_, .columns = columns, .depth = g_.group_out};
      case Role::kBackwardWeights:
        break;
    }
    return {.rows = g_.group_out, .columns = depth_, .depth = columns};
  }

  // Scratch: columns, outputs of several images side by side, what the product needs.
  size_t AlignedFloats() const {
    constexpr int64_t kLine = 16;
    return static_cast<size_t>((column_floats_ + output_floats_ + kLine - 1) / kLine * kLine);
  }
  static float* ColumnRoom(const KernelArgs& args) {
    return reinterpret_cast<float*>(args.scratch);
  }
  float* Outputs(const KernelArgs& args) const { return ColumnRoom(args) + column_floats_; }
  std::byte* GemmScratch(const KernelArgs& args) const {
    return args.scratch + AlignedFloats() * sizeof(float);
  }

  // Where a group's part of a chunk begins, in [N][C][H][W]; for the input only if it is the
  // matrix.
  int64_t InputPlace(const Chunk& chunk, int64_t group) const {
    return (chunk.image * g_.in_channels + group * g_.group_in) * g_.in_plane() +
           chunk.row * g_.w.in;
  }
  int64_t OutputPlace(const Chunk& chunk, int64_t group) const {
    return (chunk.image * g_.out_channels + group * g_.group_out) * g_.out_plane() +
           chunk.row * g_.w.out;
  }

  ConstMatrix Weights(const KernelArgs& args, int64_t group) const {
    return {args.params[0] + group * g_.group_out * depth_, depth_};
  }

  ConstMatrix Columns(const Chunk& chunk, int64_t group, const KernelArgs& args) const {
    if (g_.is_pointwise() && chunk.images == 1) {
      return {args.srcs[0] + InputPlace(chunk, group), g_.in_plane()};
    }
    FillColumns(g_, chunk, group, args.srcs[0], ColumnRoom(args), parallel_);
    return {ColumnRoom(args), chunk.columns(g_)};
  }

  ConstMatrix OutputGradients(const Chunk& chunk, int64_t group, const KernelArgs& args) const {
    const float* d_dst = args.d_dst + OutputPlace(chunk, group);
    if (chunk.images == 1) return {d_dst, g_.out_plane()};
    float* side_by_side = Outputs(args);  // [group_out][images][plane]
    parallel_.For(g_.group_out, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t n = 0; n < chunk.images; ++n) {
          std::copy_n(d_dst + (n * g_.out_channels + o) * g_.out_plane(), g_.out_plane(),
                      side_by_side + (o * chunk.images + n) * g_.out_plane());
        }
      }
    });
    return {side_by_side, chunk.columns(g_)};
  }

  // Bias and activation, and the way from a matrix of several images into dst. The sums of a single
  // one are there already.
  template <Activation kActivation>
  void Finish(const Chunk& chunk, int64_t group, const Matrix& sums, const KernelArgs& args) const {
    if (chunk.images == 1 && !has_bias_ && kActivation == Activation::kNone) return;
    const int64_t count = chunk.image_columns(g_);
    parallel_.For(g_.group_out, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const float bias = has_bias_ ? args.params[1][group * g_.group_out + o] : 0.0f;
        for (int64_t n = 0; n < chunk.images; ++n) {
          const float* from = sums.data + o * sums.row_step + n * count;
          float* to =
              args.dst + OutputPlace(chunk, group) + (n * g_.out_channels + o) * g_.out_plane();
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) to[i] = Activate<kActivation>(from[i] + bias);
        }
      }
    });
  }

  const Geometry g_;
  const bool has_bias_;
  const Activation activation_;
  Parallel& parallel_;
  const Gemm& gemm_;
  const std::vector<Chunk> chunks_;  // the first is the largest
  const int64_t depth_;
  int64_t column_floats_ = 0;
  int64_t output_floats_ = 0;
};

}  // namespace

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (Geometry(conv, op).is_depthwise()) {
    OfferDepthwise(conv, op, role, device, offers);
    return;
  }
  for (const Gemm* gemm : {device.acl.get(), device.neon.get()}) {
    if (gemm == nullptr) continue;
    Convolution convolution(conv, op, device, *gemm);
    const Facts facts{.name = gemm->name(),
                      .scratch_bytes = convolution.scratch_bytes(role),
                      .reads_src = role == Role::kBackwardWeights};
    switch (role) {
      case Role::kForward:
        offers.push_back(MakeKernel(facts, [convolution = std::move(convolution)](
                                               const auto& args) { convolution.Forward(args); }));
        break;
      case Role::kBackwardData:
        offers.push_back(
            MakeKernel(facts, [convolution = std::move(convolution)](const auto& args) {
              convolution.BackwardData(args);
            }));
        break;
      case Role::kBackwardWeights:
        offers.push_back(
            MakeKernel(facts, [convolution = std::move(convolution)](const auto& args) {
              convolution.BackwardWeights(args);
            }));
        break;
    }
  }
}

}  // namespace weft::acl
