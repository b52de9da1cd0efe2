// SPDX-License-Identifier: Apache-2.0
// What a kernel of this backend is: a plain function for one role of one layer, and the facts about
// it that the network must know.
#pragma once

#include <memory>
#include <utility>

#include "core/kernel.h"
#include "core/parallel.h"
#include "kernels/body_kernel.h"

namespace weft::ref {

// `op` is the one the kernel was prepared for.
using Body = void (*)(const OpSpec& op, const KernelArgs& args, Parallel& parallel);

using Facts = KernelFacts;

inline std::unique_ptr<Kernel> MakeKernel(const OpSpec& op, Parallel& parallel, Body body,
                                          Facts facts = {}) {
  facts.name = "ref";
  return MakeBodyKernel(std::move(facts), [op, &parallel, body](const KernelArgs& args) {
    body(op, args, parallel);
  });
}

// Prepare: one overload for each kind of layer, in the file named after it. Null where the layer
// has no such role.
using Prepared = std::unique_ptr<Kernel>;
Prepared Prepare(const model::Conv2d& conv, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::Linear& linear, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::BatchNorm& norm, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::Relu& relu, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::Relu6& relu6, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::MaxPool& pool, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::AvgPool& pool, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::AdaptiveAvgPool& pool, const OpSpec& op, Role role,
                 Parallel& parallel);
Prepared Prepare(const model::Add& add, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::Concat& concat, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::Dropout& dropout, const OpSpec& op, Role role, Parallel& parallel);
Prepared Prepare(const model::Flatten& flatten, const OpSpec& op, Role role, Parallel& parallel);

}  // namespace weft::ref
