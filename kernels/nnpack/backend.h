// SPDX-License-Identifier: Apache-2.0
// Convolutions of stride 1 by NNPACK: through Fourier transforms, which keep all digits, and for
// 3x3 through Winograd's, which does not. Activations are plain. NNPACK's fully connected layer
// allocates memory at each call and is not used.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.h"

namespace weft::nnpack {

struct Device;

class NnpackBackend final : public Backend {
 public:
  // Works on `threads` threads, the calling one among them. On a processor that NNPACK does not
  // know it offers nothing.
  explicit NnpackBackend(int threads);
  ~NnpackBackend() override;  // its kernels must be gone

  std::string_view name() const override { return "nnpack"; }
  std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec& op, Role role) override;

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace weft::nnpack
