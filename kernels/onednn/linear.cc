// SPDX-License-Identifier: Apache-2.0
// The fully connected layer on its plain weights [O][I]: the largest are hundreds of megabytes, of
// which no second copy is made.
#include <utility>

#include "kernels/onednn/offers.h"

namespace weft::onednn {

void Offer(const model::Linear& linear, const OpSpec& op, Role role, const Device& device,
           Offers& offers) {
  const auto src = ActivationDesc(op.srcs[0], 1);
  const auto dst = ActivationDesc(op.dst, 1);
  const auto weights = PlainDesc({linear.out_features, linear.in_features});
  const auto bias = linear.bias ? PlainDesc({linear.out_features}) : dnnl::memory::desc();
  dnnl::primitive_attr attributes = UserScratchpad();
  if (op.activation != Activation::kNone && role == Role::kForward) {
    dnnl::post_ops after;
    const bool relu = op.activation == Activation::kRelu;
    after.append_eltwise(1.0f, relu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_clip,
                         0.0f, relu ? 0.0f : 6.0f);
    attributes.set_post_ops(after);
  }
  const dnnl::inner_product_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, src, weights, bias, dst}, attributes, device.engine);
  const auto name = [](const auto& plan) { return std::string("onednn:") + plan.impl_info_str(); };
  switch (role) {
    case Role::kForward: {
      Call call(device, name(forward), dnnl::inner_product_forward(forward),
                {{DNNL_ARG_SRC, src},
                 {DNNL_ARG_WEIGHTS, weights},
                 {DNNL_ARG_BIAS, bias},
                 {DNNL_ARG_DST, dst},
                 {DNNL_ARG_SCRATCHPAD, forward.scratchpad_desc()}});
      const Facts facts{.name = name(forward),
                        .scratch_bytes = forward.scratchpad_desc().get_size()};
      offers.push_back(MakeKernel(facts, [call = std::move(call)](const KernelArgs& args) {
        call({args.srcs[0], args.params[0], args.params.size() > 1 ? args.params[1] : nullptr,
              args.dst, args.scratch});
      }));
      return;
    }
    case Role::kBackwardData: {
      const dnnl::inner_product_backward_data::primitive_desc plan(
          {src, weights, dst}, UserScratchpad(), device.engine, forward);
      Call call(device, name(plan), dnnl::inner_product_backward_data(plan),
                {{DNNL_ARG_DIFF_DST, dst},
                 {DNNL_ARG_WEIGHTS, weights},
                 {DNNL_ARG_DIFF_SRC, src},
                 {DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}});
      const Facts facts{.name = name(plan), .scratch_bytes = plan.scratchpad_desc().get_size()};
      offers.push_back(MakeKernel(facts, [call = std::move(call)](const KernelArgs& args) {
        call({args.d_dst, args.params[0], args.d_srcs[0], args.scratch});
      }));
      return;
    }
    case Role::kBackwardWeights: {
      const dnnl::inner_product_backward_weights::primitive_desc plan(
          {src, weights, bias, dst}, UserScratchpad(), device.engine, forward);
      Call call(device, name(plan), dnnl::inner_product_backward_weights(plan),
                {{DNNL_ARG_SRC, src},
                 {DNNL_ARG_DIFF_DST, dst},
                 {DNNL_ARG_DIFF_WEIGHTS, weights},
                 {DNNL_ARG_DIFF_BIAS, bias},
                 {DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}});
      const Facts facts{.name = name(plan),
                        .scratch_bytes = plan.scratchpad_desc().get_size(),
                        .reads_src = true};
      offers.push_back(MakeKernel(facts, [call = std::move(call)](const KernelArgs& args) {
        call({args.srcs[0], args.d_dst, args.d_params[0],
              args.d_params.size() > 1 ? args.d_params[1] : nullptr, args.scratch});
      }));
      return;
    }
  }
}

}  // namespace weft::onednn
