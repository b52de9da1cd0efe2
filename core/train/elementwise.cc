// SPDX-License-Identifier: Apache-2.0
#include "core/train/elementwise.h"

namespace weft::train {
namespace {

class Mask final : public Kernel {
 public:
  Mask(Parallel& parallel, Activation activation, int64_t elements)
      : parallel_(parallel),
        top_(activation == Activation::kRelu6 ? 6.0f : __builtin_inff()),
        elements_(elements) {}

  std::string_view name() const override { return "mask"; }
  bool reads_dst() const override { return true; }
  bool in_place() const override { return true; }

  void Run(const KernelArgs& args) override {
    const float* const dst = args.dst;
    const float* const d_dst = args.d_dst;
    float* const d_src = args.d_srcs[0];
    const float top = top_;
    parallel_.For(elements_, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep  // in place or apart, never half over each other
      for (int64_t i = begin; i < end; ++i) {
        const float d = d_dst[i];
        const float from_below = dst[i] > 0.0f ? d : 0.0f;
        d_src[i] = dst[i] < top ? from_below : 0.0f;
      }
    });
  }

 private:
  Parallel& parallel_;
  const float top_;
  const int64_t elements_;
};

class Sum final : public Kernel {
 public:
  Sum(Parallel& parallel, int64_t elements) : parallel_(parallel), elements_(elements) {}

  std::string_view name() const override { return "sum"; }
  bool in_place() const override { return true; }

  void Run(const KernelArgs& args) override {
    const float* const a = args.srcs[0];
    const float* const b = args.srcs[1];
    float* const dst = args.dst;
    parallel_.For(elements_, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) dst[i] = a[i] + b[i];
    });
  }

 private:
  Parallel& parallel_;
  const int64_t elements_;
};

}  // namespace

std::unique_ptr<Kernel> MaskByActivation(Parallel& parallel, Activation activation,
                                         int64_t elements) {
  return std::make_unique<Mask>(parallel, activation, elements);
}

std::unique_ptr<Kernel> SumOfTwo(Parallel& parallel, int64_t elements) {
  return std::make_unique<Sum>(parallel, elements);
}

}  // namespace weft::train
