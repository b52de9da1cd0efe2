// SPDX-License-Identifier: Apache-2.0
// Relu and Relu6 standing alone, mostly in place: no value depends on its neighbours (ivdep).
#include "kernels/acl/activation.h"

#include <cstdint>

#include "kernels/acl/offers.h"

namespace weft::acl {
namespace {

template <Activation kActivation>
void OfferActivation(const OpSpec& op, Role role, const Device& device, Offers& offers) {
  const int64_t count = op.dst.elements();
  Parallel& parallel = device.parallel;
  if (role == Role::kForward) {
    offers.push_back(
        MakeKernel(Facts{.in_place = true}, [&parallel, count](const KernelArgs& args) {
          const float* src = args.srcs[0];
          float* dst = args.dst;
          parallel.For(count, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
            for (int64_t i = begin; i < end; ++i) dst[i] = Activate<kActivation>(src[i]);
          });
        }));
  } else if (role == Role::kBackwardData) {
    offers.push_back(MakeKernel(Facts{.reads_dst = true, .in_place = true},
                                [&parallel, count](const KernelArgs& args) {
                                  const float* dst = args.dst;
                                  const float* d_dst = args.d_dst;
                                  float* d_src = args.d_srcs[0];
                                  parallel.For(count, [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
                                    for (int64_t i = begin; i < end; ++i) {
                                      d_src[i] = ActivateBackward<kActivation>(dst[i], d_dst[i]);
                                    }
                                  });
                                }));
  }
}

}  // namespace

void Offer(const model::Relu&, const OpSpec& op, Role role, const Device& device, Offers& offers) {
  OfferActivation<Activation::kRelu>(op, role, device, offers);
}

void Offer(const model::Relu6&, const OpSpec& op, Role role, const Device& device, Offers& offers) {
  OfferActivation<Activation::kRelu6>(op, role, device, offers);
}

}  // namespace weft::acl
