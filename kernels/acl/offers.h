// SPDX-License-Identifier: Apache-2.0
// What the files of this folder offer, a function for each kind of layer in the file named after
// it, and the one shape of kernel they are made of. Activations are plain.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel.h"
#include "core/parallel.h"
#include "kernels/acl/gemm.h"

namespace weft::acl {

using Offers = std::vector<std::unique_ptr<Kernel>>;

// Outlives the kernels made with it.
struct Device {
  Parallel& parallel;
  std::unique_ptr<Gemm> neon;
  std::unique_ptr<Gemm> acl;  // null where the library does not take it
};

struct Facts {  // as in Kernel
  std::string name = "acl:loops";
  size_t scratch_bytes = 0;
  size_t saved_bytes = 0;
  std::string_view saved_format = "";
  bool reads_src = false;
  bool reads_dst = false;
  bool in_place = false;
  bool over_src = false;
};

// Body: void(const KernelArgs&), with whatever it was prepared with inside.
template <typename Body>
class BodyKernel final : public Kernel {
 public:
  BodyKernel(Facts facts, Body body) : facts_(std::move(facts)), body_(std::move(body)) {}

  std::string_view name() const override { return facts_.name; }
  size_t scratch_bytes() const override { return facts_.scratch_bytes; }
  size_t saved_bytes() const override { return facts_.saved_bytes; }
  std::string_view saved_format() const override { return facts_.saved_format; }
  bool reads_src() const override { return facts_.reads_src; }
  bool reads_dst() const override { return facts_.reads_dst; }
  bool in_place() const override { return facts_.in_place; }
  bool over_src() const override { return facts_.over_src; }
  void Run(const KernelArgs& args) override { body_(args); }

 private:
  const Facts facts_;
  Body body_;
};

template <typename Body>
std::unique_ptr<Kernel> MakeKernel(Facts facts, Body body) {
  return std::make_unique<BodyKernel<Body>>(std::move(facts), std::move(body));
}

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void OfferDepthwise(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
                    Offers& offers);
void Offer(const model::Linear& linear, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::BatchNorm& norm, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::Relu& relu, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::Relu6& relu6, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::MaxPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::AvgPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::AdaptiveAvgPool& pool, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::Add& add, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
// The image is handed to the network, not computed. The others copy, which the reference does as
// well, or draw random numbers.
inline void Offer(const model::Input&, const OpSpec&, Role, const Device&, Offers&) {}
inline void Offer(const model::Concat&, const OpSpec&, Role, const Device&, Offers&) {}
inline void Offer(const model::Dropout&, const OpSpec&, Role, const Device&, Offers&) {}
inline void Offer(const model::Flatten&, const OpSpec&, Role, const Device&, Offers&) {}

}  // namespace weft::acl
