// SPDX-License-Identifier: Apache-2.0
// The backend for Arm boards: matrix products by the Arm Compute Library's assembly or by tiles of
// our own, whichever is faster on the board, and vector loops for what the library has no training
// for. Activations stay plain. What is merely copied is left to the reference.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel.h"
#include "core/parallel.h"

namespace weft::acl {

struct Device;

class AclBackend final : public Backend {
 public:
  // `parallel` must outlive the backend and its kernels. The library, whose threads are one pool
  // for the whole process, is given as many.
  explicit AclBackend(Parallel& parallel);
  ~AclBackend() override;  // its kernels must be gone

  std::string_view name() const override { return "acl"; }
  std::vector<std::unique_ptr<Kernel>> Offer(const OpSpec& op, Role role) override;

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace weft::acl
