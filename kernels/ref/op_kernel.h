// SPDX-License-Identifier: Apache-2.0
// What a kernel of this backend is: a plain function for one role of one layer, and the facts about
// it that the network must know.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "core/kernel.h"
#include "core/parallel.h"

namespace weft::ref {

// `op` is the one the kernel was prepared for.
using Body = void (*)(const OpSpec& op, const KernelArgs& args, Parallel& parallel);

struct Facts {  // as in Kernel
  size_t scratch_bytes = 0;
  size_t saved_bytes = 0;
  std::string_view saved_format = {};
  bool reads_src = false;
  bool reads_dst = false;
  bool in_place = false;
};

class OpKernel final : public Kernel {
 public:
  OpKernel(OpSpec op, Parallel& parallel, Body body, const Facts& facts)
      : op_(std::move(op)), parallel_(parallel), body_(body), facts_(facts) {}

  std::string_view name() const override { return "ref"; }
  size_t scratch_bytes() const override { return facts_.scratch_bytes; }
  size_t saved_bytes() const override { return facts_.saved_bytes; }
  std::string_view saved_format() const override { return facts_.saved_format; }
  bool reads_src() const override { return facts_.reads_src; }
  bool reads_dst() const override { return facts_.reads_dst; }
  bool in_place() const override { return facts_.in_place; }
  void Run(const KernelArgs& args) override { body_(op_, args, parallel_); }

 private:
  const OpSpec op_;
  Parallel& parallel_;
  const Body body_;
  const Facts facts_;
};

inline std::unique_ptr<Kernel> MakeKernel(const OpSpec& op, Parallel& parallel, Body body,
                                          const Facts& facts = {}) {
  return std::make_unique<OpKernel>(op, parallel, body, facts);
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
