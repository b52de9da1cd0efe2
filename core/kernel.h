// SPDX-License-Identifier: Apache-2.0
// The seam between the network and the arithmetic. An op is a layer, possibly with an activation
// joined to it, for one batch size. Backends offer kernels for it; whoever runs the network
// (core/train) chooses one per role, sizes all memory once, and then only calls Run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/layer.h"
#include "core/shape.h"

namespace weft {

enum class Activation { kNone, kRelu, kRelu6 };

// Parameters and their gradients are always plain: [O][I/groups][KH][KW], [O][I], [C].
// Activations and their gradients are [N][F], or [N][C][H][W] with the channels cut into blocks:
// [N][ceil(C/block)][H][W][block]. The channels that fill up the last block are kept at zero by
// every kernel that writes them. A block of 1 is the plain layout.
int64_t ActivationElements(const Shape& shape, int block);

// Which layers an activation that follows them can be joined to.
bool TakesActivation(const model::Layer& layer);

struct OpSpec {
  model::Layer layer;                         // channel and feature counts filled in
  Activation activation = Activation::kNone;  // where TakesActivation
  std::vector<Shape> srcs;                    // with the batch in front: [N][C][H][W] or [N][F]
  Shape dst;
  bool training = true;  // false: BatchNorm uses running statistics, Dropout passes through
};

enum class Role {
  kForward,
  // Gradient of the sources from the gradient of dst. BatchNorm's also makes the parameters'
  // gradients, which fall out of the same sums.
  kBackwardData,
  // Gradient of the parameters. Conv2d and Linear only.
  kBackwardWeights,
};

const char* RoleName(Role role);  // "forward", "backward data", "backward weights"

// What a call works on. Pointers are null or spans empty where a role has no use for them.
struct KernelArgs {
  std::span<const float* const> srcs;    // in blocks of src_block()
  float* dst = nullptr;                  // written forward; read backward if reads_dst()
  const float* d_dst = nullptr;          // in blocks of dst_block()
  std::span<float* const> d_srcs;        // overwritten, never added to
  std::span<const float* const> params;  // weight, then bias where there is one
  std::span<float* const> d_params;      // overwritten, never added to
  std::span<float* const> running;       // BatchNorm: mean, variance; updated in training
  std::byte* saved = nullptr;            // written forward, read backward: saved_bytes()
  std::byte* scratch = nullptr;          // anything during the call: scratch_bytes()
  std::byte* own = nullptr;              // kept between calls, zero at first: own_bytes()
  uint64_t params_version = 0;           // grows whenever params have changed
  uint64_t draw = 0;                     // Dropout: which random draw; equal draws, equal masks
  // Forward for the second time in a step: running statistics stay, and `saved` is as the first
  // time left it.
  bool again = false;
};

// One op in one role, prepared. Pointers are 64-byte aligned, parameters' only to 4. Thread: one
// call at a time; inside it may use the threads its backend was given. Equal inputs give equal
// bits.
class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual std::string_view name() const = 0;  // "ref", "onednn:jit:avx512_core"
  virtual int src_block() const { return 1; }
  virtual int dst_block() const { return 1; }
  virtual size_t scratch_bytes() const { return 0; }
  virtual size_t own_bytes() const { return 0; }
  // Forward's note for backward. A forward and a backward kernel of one op go together if their
  // formats are equal; "" needs no note.
  virtual size_t saved_bytes() const { return 0; }
  virtual std::string_view saved_format() const { return ""; }
  // Backward: whether src[0] and dst must still be there.
  virtual bool reads_src() const { return false; }
  virtual bool reads_dst() const { return false; }
  // Whether the written tensor may be the same memory as the read one of the same shape: dst as
  // srcs[0] forward, d_srcs[0] as d_dst backward.
  virtual bool in_place() const { return false; }
  // Backward data: whether d_srcs[0] may be the memory of srcs[0], whose last reader this is.
  virtual bool over_src() const { return false; }
  // False for algorithms that trade digits for speed (Winograd): not used when exactness is asked.
  virtual bool exact() const { return true; }

  virtual void Run(const KernelArgs& args) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // Every kernel this backend has for `op` in `role`, its best guess first. None is a normal
  // answer: the next backend is asked. Exceptions of a vendor library do not leave it.
  virtual std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec& op, Role role) = 0;
  // The channel block in which activations travel best between this backend's kernels.
  virtual int preferred_block() const { return 1; }
  // Changes the channel block of one tensor: srcs[0] to dst. Null is a normal answer.
  virtual std::unique_ptr<Kernel> OfferReorder(const Shape& shape, int from_block, int to_block) {
    (void)shape, (void)from_block, (void)to_block;
    return nullptr;
  }
};

// The kernels of one op. They agree on the channel blocks of src and dst; those that the op has
// no use for are null.
struct OpKernels {
  std::unique_ptr<Kernel> forward;
  std::unique_ptr<Kernel> backward_data;
  std::unique_ptr<Kernel> backward_weights;
};

// Decides who computes what, from the backends at hand.
class KernelChooser {
 public:
  virtual ~KernelChooser() = default;
  // `backward`: whether gradients are wanted at all; `d_src`: whether the sources' are.
  virtual OpKernels Choose(const OpSpec& op, bool backward, bool d_src) = 0;
  virtual std::unique_ptr<Kernel> ChooseReorder(const Shape& shape, int from_block,
                                                int to_block) = 0;
};

}  // namespace weft
