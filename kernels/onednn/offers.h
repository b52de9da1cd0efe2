// SPDX-License-Identifier: Apache-2.0
// What the files of this folder offer, a function for each kind of layer in the file named after
// it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/kernel.h"
#include "kernels/body_kernel.h"
#include "kernels/onednn/device.h"

namespace weft::onednn {

using Offers = std::vector<std::unique_ptr<Kernel>>;

using Facts = KernelFacts;

// A kernel without a name of its own is one of our loops.
template <typename Body>
std::unique_ptr<Kernel> MakeKernel(Facts facts, Body body) {
  if (facts.name.empty()) facts.name = "onednn:loops";
  return MakeBodyKernel(std::move(facts), std::move(body));
}

// The channel block in which `shape` travels: features have none.
inline int BlockOf(const Shape& shape, const Device& device) {
  return shape.rank() == 4 ? device.block : 1;
}

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers);
void OfferWinograd(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
                   Offers& offers);
// The gradient of the weights of one that OfferWinograd has found to fit.
void OfferWinogradWeights(const model::Conv2d& conv, const OpSpec& op, const Device& device,
                          Facts facts, Offers& offers);
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
