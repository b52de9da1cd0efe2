// SPDX-License-Identifier: Apache-2.0
// A convolution's tensors as oneDNN is told of them, and the way of its parameters between their
// plain form and the one a primitive wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/kernel.h"
#include "kernels/onednn/device.h"

namespace weft::onednn {

struct ConvBlocks {
  int src;
  int dst;
};

// For some channel counts that do not fill their blocks oneDNN has no kernels, so it is told of
// full ones: what the activations have beyond is zero, and what the parameters lack is filled up.
struct ConvTensors {
  ConvTensors(const model::Conv2d& conv, const OpSpec& op, ConvBlocks blocks);

  struct Weights {  // [out][in][cells]
    int64_t out;
    int64_t in;  // of one group
    int64_t cells;

    friend bool operator==(const Weights&, const Weights&) = default;
  };

  Weights ours;
  Weights full;
  dnnl::memory::desc src;
  dnnl::memory::desc dst;
  dnnl::memory::desc weights;        // in whatever order a primitive likes
  dnnl::memory::desc plain_weights;  // full, in our order
  dnnl::memory::desc bias;           // full; empty without one
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;
  dnnl::memory::dims padding;
};

// Takes parameters from our form to a primitive's (kTo), or gradients back (kFrom). Where the forms
// are the same nothing is moved and no memory needed.
class ConvParameters {
 public:
  enum class Way { kTo, kFrom };

  ConvParameters(const Device& device, const ConvTensors& tensors, const dnnl::memory::desc& wanted,
                 Way way);

  size_t bytes() const { return reordered_bytes_ + full_bytes_ + bias_bytes_; }

  struct Places {
    const void* weights;
    const void* bias;  // null without one
  };
  // Where a primitive finds or leaves them, in `memory` of bytes() or in the parameters themselves.
  template <typename Float>
  Places Look(const std::byte* memory, std::span<Float* const> params) const {
    return {reordered_bytes_ > 0 ? memory
            : full_bytes_ > 0    ? memory + reordered_bytes_
                                 : static_cast<const void*>(params[0]),
            bias_bytes_ > 0     ? memory + reordered_bytes_ + full_bytes_
            : params.size() > 1 ? static_cast<const void*>(params[1])
                                : nullptr};
  }
  // kTo: brings them there. Thread: the caller's only, but for the reorder.
  void Bring(std::byte* memory, std::span<const float* const> params) const;
  // kFrom: fetches them from there.
  void Fetch(const std::byte* memory, std::span<float* const> d_params) const;

 private:
  ConvTensors::Weights ours_;
  ConvTensors::Weights full_;
  size_t reordered_bytes_ = 0;  // then follows, in `memory`:
  size_t full_bytes_ = 0;       // then:
  size_t bias_bytes_ = 0;
  std::unique_ptr<Call> reorder_;
};

}  // namespace weft::onednn
