// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/backend.h"

#include <omp.h>

#include <variant>

#include "kernels/onednn/device.h"
#include "kernels/onednn/offers.h"

namespace weft::onednn {

OnednnBackend::OnednnBackend(int threads) : device_(std::make_unique<Device>(threads)) {}
OnednnBackend::~OnednnBackend() = default;

int OnednnBackend::preferred_block() const { return device_->block; }

std::vector<std::unique_ptr<Kernel>> OnednnBackend::Offer(const OpSpec& op, Role role) {
  Offers offers;
  if (role != Role::kForward && !op.training) return offers;
  if (op.activation != Activation::kNone && !TakesActivation(op.layer)) return offers;
  omp_set_num_threads(device_->threads);  // OpenMP's setting belongs to the calling thread
  try {
    std::visit([&](const auto& layer) { onednn::Offer(layer, op, role, *device_, offers); },
               op.layer);
  } catch (const dnnl::error&) {
    // What was made before it stands.
  }
  return offers;
}

std::unique_ptr<Kernel> OnednnBackend::OfferReorder(const Shape& shape, int from_block,
                                                    int to_block) {
  omp_set_num_threads(device_->threads);
  try {
    return MakeReorderKernel(shape, from_block, to_block, *device_);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace weft::onednn
