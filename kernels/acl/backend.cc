// SPDX-License-Identifier: Apache-2.0
#include "kernels/acl/backend.h"

#include <variant>

#include "kernels/acl/offers.h"

namespace weft::acl {

AclBackend::AclBackend(Parallel& parallel)
    : device_(new Device{parallel, MakeNeonGemm(parallel), MakeAclGemm(parallel.threads())}) {}
AclBackend::~AclBackend() = default;

std::vector<std::unique_ptr<Kernel>> AclBackend::Offer(const OpSpec& op, Role role) {
  Offers offers;
  if (role != Role::kForward && !op.training) return offers;
  if (op.activation != Activation::kNone && !TakesActivation(op.layer)) return offers;
  std::visit([&](const auto& layer) { acl::Offer(layer, op, role, *device_, offers); }, op.layer);
  return offers;
}

}  // namespace weft::acl
