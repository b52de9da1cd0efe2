// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/conv_tensors.h"

#include <algorithm>

namespace weft::onednn {
namespace {

using dnnl::memory;

int64_t FilledUp(int64_t channels, int block) { return (channels + block - 1) / block * block; }

}  // namespace

ConvTensors::ConvTensors(const model::Conv2d& conv, const OpSpec& op, ConvBlocks blocks)
    : strides{conv.stride.h, conv.stride.w},
      dilations{conv.dilation.h - 1, conv.dilation.w - 1},  // oneDNN counts the cells skipped
      padding{conv.padding.h, conv.padding.w} {
  const bool depthwise = conv.groups == conv.in_channels && conv.groups == conv.out_channels;
  const bool grows = conv.groups == 1 || depthwise;  // groups of several channels cannot
  const int64_t in = grows ? FilledUp(conv.in_channels, blocks.src) : conv.in_channels;
  const int64_t out = grows ? FilledUp(conv.out_channels, blocks.dst) : conv.out_channels;
  const int64_t groups = depthwise ? in : conv.groups;
  const int64_t cells = static_cast<int64_t>(conv.kernel.h) * conv.kernel.w;
  ours = {conv.out_channels, conv.in_channels / conv.groups, cells};
  full = {out, in / groups, cells};

  memory::dims dims{out, in, conv.kernel.h, conv.kernel.w};
  if (conv.groups > 1) dims = {groups, out / groups, in / groups, conv.kernel.h, conv.kernel.w};
  weights = {dims, memory::data_type::f32, memory::format_tag::any};
  plain_weights = PlainDesc(dims);
  if (conv.bias) bias = PlainDesc({out});
  const Shape& from = op.srcs[0];
  src = ActivationDesc({from[0], in, from[2], from[3]}, blocks.src);
  dst = ActivationDesc({op.dst[0], out, op.dst[2], op.dst[3]}, blocks.dst);
}

ConvParameters::ConvParameters(const Device& device, const ConvTensors& tensors,
                               const memory::desc& wanted, Way way)
    : ours_(tensors.ours), full_(tensors.full) {
  const memory::desc& plain = tensors.plain_weights;
  if (ours_ != full_) {
    full_bytes_ = Aligned(plain.get_size());
    bias_bytes_ = Aligned(tensors.bias.get_size());
  }
  if (wanted != plain) {
    reordered_bytes_ = Aligned(wanted.get_size());
    reorder_ = std::make_unique<Call>(way == Way::kTo ? MakeReorder(device, plain, wanted)
                                                      : MakeReorder(device, wanted, plain));
  }
}

void ConvParameters::Bring(std::byte* memory, std::span<const float* const> params) const {
  const float* weights = params[0];
  if (full_bytes_ > 0) {
    auto* full = reinterpret_cast<float*>(memory + reordered_bytes_);
    std::fill_n(full, full_.out * full_.in * full_.cells, 0.0f);
    for (int64_t o = 0; o < ours_.out; ++o) {
      std::copy_n(weights + o * ours_.in * ours_.cells, ours_.in * ours_.cells,
                  full + o * full_.in * full_.cells);
    }
    weights = full;
  }
  if (bias_bytes_ > 0) {
    auto* bias = reinterpret_cast<float*>(memory + reordered_bytes_ + full_bytes_);
    std::fill_n(bias, full_.out, 0.0f);
    std::copy_n(params[1], ours_.out, bias);
  }
  if (reorder_) (*reorder_)({weights, memory});
}

void ConvParameters::Fetch(const std::byte* memory, std::span<float* const> d_params) const {
  const std::byte* full_place = memory + reordered_bytes_;
  if (reorder_) {
    const void* to = full_bytes_ > 0 ? static_cast<const void*>(full_place) : d_params[0];
    (*reorder_)({memory, to});
  }
  if (full_bytes_ > 0) {
    const auto* full = reinterpret_cast<const float*>(full_place);
    for (int64_t o = 0; o < ours_.out; ++o) {
      std::copy_n(full + o * full_.in * full_.cells, ours_.in * ours_.cells,
                  d_params[0] + o * ours_.in * ours_.cells);
    }
  }
  if (bias_bytes_ > 0) {
    std::copy_n(reinterpret_cast<const float*>(full_place + full_bytes_), ours_.out, d_params[1]);
  }
}

}  // namespace weft::onednn
