// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN's primitives, one kernel for each of its implementations that fits the
// layouts of our activations. Weights are brought into the order an implementation wants at each
// call, in scratch: training changes them before every use, and a second copy of all weights is too
// much to keep just for evaluations.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/onednn/conv_tensors.h"
#include "kernels/onednn/offers.h"

namespace weft::onednn {
namespace {

using dnnl::algorithm;
using Way = ConvParameters::Way;
using ForwardPlan = dnnl::convolution_forward::primitive_desc;
using DataPlan = dnnl::convolution_backward_data::primitive_desc;
using WeightsPlan = dnnl::convolution_backward_weights::primitive_desc;

constexpr bool kMayBeEmpty = true;  // no exception where oneDNN has no implementation

dnnl::primitive_attr Attributes(Activation activation) {
  dnnl::primitive_attr attributes = UserScratchpad();
  dnnl::post_ops after;
  if (activation == Activation::kRelu) {
    after.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
  } else if (activation == Activation::kRelu6) {
    after.append_eltwise(1.0f, algorithm::eltwise_clip, 0.0f, 6.0f);
  }
  attributes.set_post_ops(after);
  return attributes;
}

// One op in one role and one pair of layouts, about to be made into kernels.
struct Making {
  const OpSpec& op;
  const Device& device;
  ConvTensors tensors;
  Facts facts;
};

// Each puts one implementation, which is where `plan` stands, into a kernel.

std::unique_ptr<Kernel> MakeOne(const Making& making, const ForwardPlan& plan, Facts facts) {
  const ConvTensors& t = making.tensors;
  Call call(making.device, facts.name, dnnl::convolution_forward(plan),
            {{DNNL_ARG_SRC, t.src},
             {DNNL_ARG_WEIGHTS, plan.weights_desc()},
             {DNNL_ARG_BIAS, t.bias},
             {DNNL_ARG_DST, t.dst},
             {DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}});
  ConvParameters params(making.device, t, plan.weights_desc(), Way::kTo);
  const size_t pad = Aligned(plan.scratchpad_desc().get_size());
  facts.scratch_bytes = pad + params.bytes();
  return MakeKernel(
      facts, [call = std::move(call), params = std::move(params), pad](const KernelArgs& args) {
        params.Bring(args.scratch + pad, args.params);
        const auto [weights, bias] = params.Look(args.scratch + pad, args.params);
        call({args.srcs[0], weights, bias, args.dst, args.scratch});
      });
}

std::unique_ptr<Kernel> MakeOne(const Making& making, const DataPlan& plan, Facts facts) {
  const ConvTensors& t = making.tensors;
  Call call(making.device, facts.name, dnnl::convolution_backward_data(plan),
            {{DNNL_ARG_DIFF_DST, t.dst},
             {DNNL_ARG_WEIGHTS, plan.weights_desc()},
             {DNNL_ARG_DIFF_SRC, t.src},
             {DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}});
  ConvParameters params(making.device, t, plan.weights_desc(), Way::kTo);
  const size_t pad = Aligned(plan.scratchpad_desc().get_size());
  facts.scratch_bytes = pad + params.bytes();
  return MakeKernel(
      facts, [call = std::move(call), params = std::move(params), pad](const KernelArgs& args) {
        params.Bring(args.scratch + pad, args.params);
        const void* weights = params.Look(args.scratch + pad, args.params).weights;
        call({args.d_dst, weights, args.d_srcs[0], args.scratch});
      });
}

std::unique_ptr<Kernel> MakeOne(const Making& making, const WeightsPlan& plan, Facts facts) {
  const ConvTensors& t = making.tensors;
  Call call(making.device, facts.name, dnnl::convolution_backward_weights(plan),
            {{DNNL_ARG_SRC, t.src},
             {DNNL_ARG_DIFF_DST, t.dst},
             {DNNL_ARG_DIFF_WEIGHTS, plan.diff_weights_desc()},
             {DNNL_ARG_DIFF_BIAS, t.bias},
             {DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}});
  ConvParameters params(making.device, t, plan.diff_weights_desc(), Way::kFrom);
  const size_t pad = Aligned(plan.scratchpad_desc().get_size());
  facts.scratch_bytes = pad + params.bytes();
  facts.reads_src = true;
  return MakeKernel(
      facts, [call = std::move(call), params = std::move(params), pad](const KernelArgs& args) {
        const auto [d_weights, d_bias] = params.Look(args.scratch + pad, args.d_params);
        call({args.srcs[0], args.d_dst, d_weights, d_bias, args.scratch});
        params.Fetch(args.scratch + pad, args.d_params);
      });
}

// Tells apart the offers of one implementation.
std::string_view LayoutName(const Facts& facts) {
  if (facts.src_block > 1) return "";
  return facts.dst_block > 1 ? ":plain_src" : ":plain";
}

bool IsOffered(const Offers& offers, std::string_view name) {
  return std::any_of(offers.begin(), offers.end(),
                     [&](const auto& kernel) { return kernel->name() == name; });
}

// One kernel for each implementation worth timing; oneDNN's plain C++ and, on anything newer, its
// SSE are not. Its iterator may come by an implementation twice.
template <typename Plan>
void OfferEach(const Making& making, Plan plan, Offers& offers) {
  if (!plan) return;
  do {
    const std::string_view implementation = plan.impl_info_str();
    if (implementation.find("ref") != std::string_view::npos) continue;
    const bool sse = implementation.find("sse") != std::string_view::npos;
    if (sse && making.device.isa != Isa::kBaseline) continue;
    Facts facts = making.facts;
    facts.name = "onednn:";
    facts.name.append(implementation).append(LayoutName(facts));
    if (!IsOffered(offers, facts.name)) offers.push_back(MakeOne(making, plan, facts));
  } while (plan.next_impl());
}

void OfferRole(algorithm chosen, const OpSpec& op, Role role, const Device& device,
               ConvBlocks blocks, Offers& offers) try {
  const Making making{op, device, ConvTensors(std::get<model::Conv2d>(op.layer), op, blocks),
                      Facts{.src_block = blocks.src,
                            .dst_block = blocks.dst,
                            .exact = chosen != algorithm::convolution_winograd}};
  const ConvTensors& t = making.tensors;
  // A plan that is asked for its next implementation looks into its desc: each outlives its plan.
  const auto kind =
      op.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::convolution_forward::desc forward_desc(kind, chosen, t.src, t.weights, t.bias, t.dst,
                                                     t.strides, t.dilations, t.padding, t.padding);
  const bool is_forward = role == Role::kForward;
  const ForwardPlan forward(forward_desc,
                            Attributes(is_forward ? op.activation : Activation::kNone),
                            device.engine, kMayBeEmpty);
  if (!forward) return;
  if (is_forward) {
    OfferEach(making, forward, offers);
  } else if (role == Role::kBackwardData) {
    const dnnl::convolution_backward_data::desc desc(chosen, t.src, t.weights, t.dst, t.strides,
                                                     t.dilations, t.padding, t.padding);
    OfferEach(making, DataPlan(desc, UserScratchpad(), device.engine, forward, kMayBeEmpty),
              offers);
  } else {
    const dnnl::convolution_backward_weights::desc desc(
        chosen, t.src, t.weights, t.bias, t.dst, t.strides, t.dilations, t.padding, t.padding);
    OfferEach(making, WeightsPlan(desc, UserScratchpad(), device.engine, forward, kMayBeEmpty),
              offers);
  }
} catch (const dnnl::error&) {
  // Not offered.
}

// Whether every role that the op has is there in blocks.
bool IsWholeInBlocks(const OpSpec& op, const Device& device) {
  constexpr std::array kRoles{Role::kForward, Role::kBackwardData, Role::kBackwardWeights};
  return std::all_of(kRoles.begin(), kRoles.begin() + (op.training ? 3 : 1), [&](Role role) {
    Offers offers;
    OfferRole(algorithm::convolution_direct, op, role, device, {device.block, device.block},
              offers);
    return !offers.empty();
  });
}

}  // namespace

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  // The image comes plain, and its few channels are not worth a block of their own.
  constexpr int kFewChannels = 4;
  const ConvBlocks blocked{device.block, device.block};
  if (conv.in_channels < kFewChannels) {
    OfferRole(algorithm::convolution_direct, op, role, device, {1, device.block}, offers);
  } else {
    OfferWinograd(conv, op, role, device, offers);
    OfferRole(algorithm::convolution_winograd, op, role, device, blocked, offers);
  }
  OfferRole(algorithm::convolution_direct, op, role, device, blocked, offers);
  if (!IsWholeInBlocks(op, device)) {
    OfferRole(algorithm::convolution_direct, op, role, device, {1, 1}, offers);
  }
}

}  // namespace weft::onednn
