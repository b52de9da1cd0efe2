// SPDX-License-Identifier: Apache-2.0
// The backend for x86: oneDNN's convolutions and inner products, and loops of our own where those
// are faster or where oneDNN means something else than PyTorch. Activations travel in blocks of 8
// channels with AVX2 and of 16 with AVX-512, from the first convolution to the flattening.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.h"

namespace weft::onednn {

struct Device;

class OnednnBackend final : public Backend {
 public:
  // Works on `threads` OpenMP threads, the calling one among them.
  explicit OnednnBackend(int threads);
  ~OnednnBackend() override;  // its kernels must be gone

  std::string_view name() const override { return "onednn"; }
  int preferred_block() const override;
  std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec& op, Role role) override;
  std::unique_ptr<Kernel> OfferReorder(const Shape& shape, int from_block, int to_block) override;

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace weft::onednn
