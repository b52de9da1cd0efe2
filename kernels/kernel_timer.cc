// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_timer.h"

#include <algorithm>
#include <cstring>

#include "core/arena.h"
#include "core/model/layer_tensors.h"

namespace weft {
namespace {

// Memory for one op, filled with small numbers.
class MadeUpData {
 public:
  MadeUpData(const OpSpec& op, int src_block, int dst_block) : arena_(1 << 20) {
    for (const Shape& src : op.srcs) {
      srcs_.push_back(Floats(ActivationElements(src, src_block)));
      d_srcs_.push_back(Floats(ActivationElements(src, src_block)));
    }
    dst_ = Floats(ActivationElements(op.dst, dst_block));
    d_dst_ = Floats(ActivationElements(op.dst, dst_block));
    for (const model::TensorSpec& tensor : model::TensorsOf(op.layer, "")) {
      if (tensor.role == model::TensorRole::kParameter) {
        params_.push_back(Floats(tensor.shape.elements()));
        d_params_.push_back(Floats(tensor.shape.elements()));
      } else if (tensor.role == model::TensorRole::kRunningStatistic) {
        running_.push_back(Floats(tensor.shape.elements()));
      }
    }
  }

  std::byte* Bytes(size_t count) {
    const std::span<std::byte> bytes = arena_.Take<std::byte>(count);
    std::memset(bytes.data(), 0, bytes.size());
    return bytes.data();
  }

  KernelArgs ArgsFor(Kernel& kernel, std::byte* saved) {
    return {.srcs = srcs_,
            .dst = dst_,
            .d_dst = d_dst_,
            .d_srcs = d_srcs_,
            .params = params_,
            .d_params = d_params_,
            .running = running_,
            .saved = saved,
            .scratch = Bytes(kernel.scratch_bytes()),
            .own = Bytes(kernel.own_bytes()),
            .params_version = 1};
  }

 private:
  float* Floats(int64_t count) {
    const std::span<float> floats = arena_.Take<float>(static_cast<size_t>(count));
    // The numbers do not matter, only that they are neither denormal nor all alike.
    for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i % 61) / 61 - 0.25f;
    return floats.data();
  }

  Arena arena_;
  std::vector<const float*> srcs_;
  std::vector<float*> d_srcs_;
  float* dst_ = nullptr;
  float* d_dst_ = nullptr;
  std::vector<const float*> params_;
  std::vector<float*> d_params_;
  std::vector<float*> running_;
};

}  // namespace

size_t TimingBytes(const OpSpec& op, const Kernel& kernel, const Kernel& forward) {
  int64_t floats = 2 * ActivationElements(op.dst, kernel.dst_block());
  for (const Shape& src : op.srcs) floats += 2 * ActivationElements(src, kernel.src_block());
  for (const model::TensorSpec& tensor : model::TensorsOf(op.layer, "")) {
    floats += 2 * tensor.shape.elements();
  }
  const size_t of_kernels = kernel.scratch_bytes() + kernel.own_bytes() + forward.scratch_bytes() +
                            forward.own_bytes() +
                            std::max(kernel.saved_bytes(), forward.saved_bytes());
  return static_cast<size_t>(floats) * sizeof(float) + of_kernels;
}

int64_t TimeKernel(const OpSpec& op, Role role, Kernel& kernel, Kernel& forward,
                   const Clock& clock) {
  constexpr int kRuns = 3;
  constexpr int64_t kEnoughNs = 300'000'000;
  MadeUpData data(op, kernel.src_block(), kernel.dst_block());
  std::byte* const saved = data.Bytes(std::max(kernel.saved_bytes(), forward.saved_bytes()));
  if (role != Role::kForward && !kernel.saved_format().empty()) {
    forward.Run(data.ArgsFor(forward, saved));
  }
  KernelArgs args = data.ArgsFor(kernel, saved);
  kernel.Run(args);  // warm-up: code generated, memory touched
  int64_t best = INT64_MAX;
  const int64_t start = clock.NowNs();
  for (int run = 0; run < kRuns && clock.NowNs() - start < kEnoughNs; ++run) {
    ++args.params_version;  // refreshing its own weights is part of the work
    const int64_t begin = clock.NowNs();
    kernel.Run(args);
    best = std::min(best, clock.NowNs() - begin);
  }
  return best;
}

}  // namespace weft
