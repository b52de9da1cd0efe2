// SPDX-License-Identifier: Apache-2.0
// What the files of this folder offer, a function for each kind of layer in the file named after
// it, and the two shapes of kernel they are made of.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel.h"
#include "kernels/onednn/device.h"

namespace weft::onednn {

using Offers = std::vector<std::unique_ptr<Kernel>>;

struct Facts {  // as in Kernel
  std::string name = "onednn:loops";
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
  BodyKernel(Facts facts, Body body) : facts_(std::move(facts)), body_(std::move(body)) {}

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
  const Facts facts_;
  Body body_;
};

template <typename Body>
std::unique_ptr<Kernel> MakeKernel(Facts facts, Body body) {
  return std::make_unique<BodyKernel<Body>>(std::move(facts), std::move(body));
}

// The channel block in which `shape` travels: features have none.
inline int BlockOf(const Shape& shape, const Device& device) {
  return shape.rank() == 4 ? device.block : 1;
}

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void OfferWinograd(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
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
void Offer(const model::Concat& concat, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::Dropout& dropout, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void Offer(const model::Flatten& flatten, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
// The image is handed to the network, not computed.
inline void Offer(const model::Input&, const OpSpec&, Role, const Device&, Offers&) {}

// Null for blocks other than 1, 8 and 16.
std::unique_ptr<Kernel> MakeReorderKernel(const Shape& shape, int from_block, int to_block,
                                          const Device& device);

}  // namespace weft::onednn
