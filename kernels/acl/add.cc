// SPDX-License-Identifier: Apache-2.0
// The sum of two or more tensors of one shape, with an activation joined to it. The gradient is
// only handed on, which the reference does as well. The loops may work in place, where no value
// depends on its neighbours (ivdep).
#include <cstddef>
#include <cstdint>

#include "kernels/acl/activation.h"
#include "kernels/acl/offers.h"

namespace weft::acl {
namespace {

template <Activation kActivation>
void AddAll(const KernelArgs& args, int64_t begin, int64_t end) {
  const float* a = args.srcs[0];
  const float* b = args.srcs[1];
  float* dst = args.dst;
  if (args.srcs.size() == 2) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) dst[i] = Activate<kActivation>(a[i] + b[i]);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) dst[i] = a[i] + b[i];
  for (size_t source = 2; source < args.srcs.size(); ++source) {
    const float* c = args.srcs[source];
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) dst[i] += c[i];
  }
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) dst[i] = Activate<kActivation>(dst[i]);
}

}  // namespace

void Offer(const model::Add&, const OpSpec& op, Role role, const Device& device, Offers& offers) {
  if (role != Role::kForward) return;
  const auto body =
      WithActivation(op.activation, []<Activation kActivation>() { return &AddAll<kActivation>; });
  offers.push_back(MakeKernel(
      Facts{.in_place = true},
      [&parallel = device.parallel, body, count = op.dst.elements()](const KernelArgs& args) {
        parallel.For(count, [&](int64_t begin, int64_t end) { body(args, begin, end); });
      }));
}

}  // namespace weft::acl
