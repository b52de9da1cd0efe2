// SPDX-License-Identifier: Apache-2.0
// Convolution by NNPACK, one kernel for each of its algorithms: tiles of the image and the weights
// are transformed, multiplied as matrices of channels, and the products transformed back. The
// weights' transforms need 64 or 256 floats for each pair of channels, all of them in scratch.
#include <nnpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/body_kernel.h"
#include "kernels/nnpack/offers.h"

namespace weft::nnpack {
namespace {

struct Algorithm {
  nnp_convolution_algorithm id;
  std::string_view name;
  bool exact;
};

constexpr std::array kAlgorithms{
    Algorithm{nnp_convolution_algorithm_wt8x8, "nnpack:winograd8x8", false},
    Algorithm{nnp_convolution_algorithm_ft8x8, "nnpack:fft8x8", true},
    Algorithm{nnp_convolution_algorithm_ft16x16, "nnpack:fft16x16", true},
};

// More is not asked of a board, even where 16x16 tiles of many channels would be the fastest.
constexpr size_t kMostScratch = size_t{96} << 20;

class Convolution {
 public:
  Convolution(const Algorithm& algorithm, const model::Conv2d& conv, const OpSpec& op, Role role,
              const Device& device)
      : algorithm_(algorithm),
        role_(role),
        device_(device),
        images_(Size(op.dst[0])),
        in_channels_(Size(conv.in_channels)),
        out_channels_(Size(conv.out_channels)),
        image_{.width = Size(op.srcs[0][3]), .height = Size(op.srcs[0][2])},
        padding_{.top = Size(conv.padding.h),
                 .right = Size(conv.padding.w),
                 .bottom = Size(conv.padding.h),
                 .left = Size(conv.padding.w)},
        kernel_{.width = Size(conv.kernel.w), .height = Size(conv.kernel.h)},
        out_plane_(op.dst[2] * op.dst[3]),
        activation_(op.activation) {
    if (!conv.bias && role == Role::kForward) no_bias_.resize(out_channels_);
    // Without a place to work in, NNPACK only tells how large that must be.
    prepared_ = Call({}, nullptr, &workspace_bytes_) == nnp_status_success;
  }

  bool prepared() const { return prepared_; }
  size_t workspace_bytes() const { return workspace_bytes_; }

  void Run(const KernelArgs& args) const {
    switch (role_) {
      case Role::kForward:
        MustCall(args, {.one = args.srcs[0],
                        .other = args.params[0],
                        .bias = no_bias_.empty() ? args.params[1] : no_bias_.data(),
                        .made = args.dst});
        if (activation_ == Activation::kRelu6) return Clip(args.dst);
        break;
      case Role::kBackwardData:
        MustCall(args, {.one = args.d_dst, .other = args.params[0], .made = args.d_srcs[0]});
        break;
      case Role::kBackwardWeights:
        MustCall(args, {.one = args.srcs[0], .other = args.d_dst, .made = args.d_params[0]});
        if (args.d_params.size() > 1) return SumChannels(args.d_dst, args.d_params[1]);
        break;
    }
    device_.Rest();
  }

 private:
  // Of src, weights and dst, or their gradients, two make the third.
  struct Tensors {
    const float* one = nullptr;
    const float* other = nullptr;
    const float* bias = nullptr;  // forward
    float* made = nullptr;
  };

  static size_t Size(int64_t extent) { return static_cast<size_t>(extent); }

  nnp_status Call(const Tensors& t, std::byte* workspace, size_t* bytes) const {
    switch (role_) {
      case Role::kForward:
        return nnp_convolution_output(
            algorithm_.id, images_, in_channels_, out_channels_, image_, padding_, kernel_, t.one,
            t.other, t.bias, t.made, workspace, bytes,
            activation_ == Activation::kRelu ? nnp_activation_relu : nnp_activation_identity,
            nullptr, device_.pool.get(), nullptr);
      case Role::kBackwardData:
        return nnp_convolution_input_gradient(algorithm_.id, images_, in_channels_, out_channels_,
                                              image_, padding_, kernel_, t.one, t.other, t.made,
                                              workspace, bytes, nnp_activation_identity, nullptr,
                                              device_.pool.get(), nullptr);
      case Role::kBackwardWeights:
        break;
    }
    return nnp_convolution_kernel_gradient(algorithm_.id, images_, in_channels_, out_channels_,
                                           image_, padding_, kernel_, t.one, t.other, t.made,
                                           workspace, bytes, nnp_activation_identity, nullptr,
                                           device_.pool.get(), nullptr);
  }

  // What was prepared has no reason to fail.
  void MustCall(const KernelArgs& args, const Tensors& t) const {
    size_t bytes = workspace_bytes_;
    const nnp_status status = Call(t, args.scratch, &bytes);
    if (status == nnp_status_success) return;
    std::fprintf(stderr, "%s: NNPACK refuses to run it, status %d\n", algorithm_.name.data(),
                 status);
    std::terminate();
  }

  // dst [N][O][OH][OW]
  void Clip(float* dst) const {
    device_.For(images_ * out_channels_, [&](size_t plane) {
      float* values = dst + static_cast<int64_t>(plane) * out_plane_;
      for (int64_t i = 0; i < out_plane_; ++i) {  // NaN stays
        const float positive = values[i] < 0.0f ? 0.0f : values[i];
        values[i] = positive > 6.0f ? 6.0f : positive;
      }
    });
  }

  // d_bias [O] from d_dst [N][O][OH][OW]
  void SumChannels(const float* d_dst, float* d_bias) const {
    device_.For(out_channels_, [&](size_t o) {
      double sum = 0;
      for (size_t n = 0; n < images_; ++n) {
        const float* plane = d_dst + static_cast<int64_t>(n * out_channels_ + o) * out_plane_;
        for (int64_t i = 0; i < out_plane_; ++i) sum += plane[i];
      }
      d_bias[o] = static_cast<float>(sum);
    });
  }

  const Algorithm& algorithm_;
  const Role role_;
  const Device& device_;
  const size_t images_;
  const size_t in_channels_;
  const size_t out_channels_;
  const nnp_size image_;
  const nnp_padding padding_;
  const nnp_size kernel_;
  const int64_t out_plane_;
  const Activation activation_;
  std::vector<float> no_bias_;  // zeros: NNPACK wants a bias
  size_t workspace_bytes_ = 0;
  bool prepared_ = false;
};

}  // namespace

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  if (conv.stride != 1 || conv.dilation != 1 || conv.groups != 1) return;
  if (conv.kernel == 1) return;  // a plain product of matrices: no transform makes it less
  for (const Algorithm& algorithm : kAlgorithms) {
    Convolution convolution(algorithm, conv, op, role, device);
    if (!convolution.prepared() || convolution.workspace_bytes() > kMostScratch) continue;
    KernelFacts facts{.name = std::string(algorithm.name),
                      .scratch_bytes = convolution.workspace_bytes(),
                      .reads_src = role == Role::kBackwardWeights,
                      .exact = algorithm.exact};
    offers.push_back(MakeBodyKernel(
        std::move(facts),
        [convolution = std::move(convolution)](const KernelArgs& args) { convolution.Run(args); }));
  }
}

}  // namespace weft::nnpack
