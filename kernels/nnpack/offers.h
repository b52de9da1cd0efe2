// SPDX-License-Identifier: Apache-2.0
// What the files of this folder offer, a function for each kind of layer in the file named after
// it, and the one shape of kernel they are made of. Activations are plain.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel.h"
#include "kernels/nnpack/device.h"

namespace weft::nnpack {

using Offers = std::vector<std::unique_ptr<Kernel>>;

struct Facts {            // as in Kernel
  std::string_view name;  // a literal
  size_t scratch_bytes = 0;
  bool reads_src = false;
  bool exact = true;
};

// Body: void(const KernelArgs&), with whatever it was prepared with inside.
template <typename Body>
class BodyKernel final : public Kernel {
 public:
  BodyKernel(const Facts& facts, Body body) : facts_(facts), body_(std::move(body)) {}

  std::string_view name() const override { return facts_.name; }
  size_t scratch_bytes() const override { return facts_.scratch_bytes; }
  bool reads_src() const override { return facts_.reads_src; }
  bool exact() const override { return facts_.exact; }
  void Run(const KernelArgs& args) override { body_(args); }

 private:
  const Facts facts_;
  Body body_;
};

template <typename Body>
std::unique_ptr<Kernel> MakeKernel(const Facts& facts, Body body) {
  return std::make_unique<BodyKernel<Body>>(facts, std::move(body));
}

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers);

}  // namespace weft::nnpack
