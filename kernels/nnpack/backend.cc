// SPDX-License-Identifier: Apache-2.0
#include "kernels/nnpack/backend.h"

#include <variant>

#include "kernels/nnpack/device.h"
#include "kernels/nnpack/offers.h"

namespace weft::nnpack {

NnpackBackend::NnpackBackend(int threads) : device_(std::make_unique<Device>(threads)) {}
NnpackBackend::~NnpackBackend() = default;

std::vector<std::unique_ptr<Kernel>> NnpackBackend::Offer(const OpSpec& op, Role role) {
  Offers offers;
  if (!device_->supported) return offers;
  if (role != Role::kForward && !op.training) return offers;
  if (const auto* conv = std::get_if<model::Conv2d>(&op.layer)) {
    nnpack::Offer(*conv, op, role, *device_, offers);
  }
  return offers;
}

}  // namespace weft::nnpack
