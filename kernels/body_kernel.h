// SPDX-License-Identifier: Apache-2.0
// A kernel made of facts and a callable: what the backends' kernels are.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/kernel.h"

namespace weft {

struct KernelFacts {  // as in Kernel
  std::string name = "";
  int src_block = 1;
  int dst_block = 1;
  size_t scratch_bytes = 0;
  size_t own_bytes = 0;
  size_t saved_bytes = 0;
  std::string_view saved_format = "";
  bool reads_src = false;
  bool reads_dst = false;
  bool in_place = false;
  bool over_src = false;
  bool exact = true;
};

// Body: void(const KernelArgs&), with whatever it was prepared with inside.
template <typename Body>
class BodyKernel final : public Kernel {
 public:
  BodyKernel(KernelFacts facts, Body body) : facts_(std::move(facts)), body_(std::move(body)) {}

  std::string_view name() const override { return facts_.name; }
  int src_block() const override { return facts_.src_block; }
  int dst_block() const override { return facts_.dst_block; }
  size_t scratch_bytes() const override { return facts_.scratch_bytes; }
  size_t own_bytes() const override { return facts_.own_bytes; }
  size_t saved_bytes() const override { return facts_.saved_bytes; }
  std::string_view saved_format() const override { return facts_.saved_format; }
  bool reads_src() const override { return facts_.reads_src; }
  bool reads_dst() const override { return facts_.reads_dst; }
  bool in_place() const override { return facts_.in_place; }
  bool over_src() const override { return facts_.over_src; }
  bool exact() const override { return facts_.exact; }
  void Run(const KernelArgs& args) override { body_(args); }

 private:
  const KernelFacts facts_;
  Body body_;
};

template <typename Body>
std::unique_ptr<Kernel> MakeBodyKernel(KernelFacts facts, Body body) {
  return std::make_unique<BodyKernel<Body>>(std::move(facts), std::move(body));
}

}  // namespace weft
