// SPDX-License-Identifier: Apache-2.0
// What the files of this folder offer, a function for each kind of layer in the file named after
// it. Activations are plain.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/kernel.h"
#include "core/parallel.h"
#include "kernels/acl/gemm.h"
#include "kernels/body_kernel.h"

namespace weft::acl {

using Offers = std::vector<std::unique_ptr<Kernel>>;

// Outlives the kernels made with it.
struct Device {
  Parallel& parallel;
  std::unique_ptr<Gemm> neon;
  std::unique_ptr<Gemm> acl;  // null where the library does not take it
};

using Facts = KernelFacts;

// A kernel without a name of its own is one of our loops.
template <typename Body>
std::unique_ptr<Kernel> MakeKernel(Facts facts, Body body) {
  if (facts.name.empty()) facts.name = "acl:loops";
  return MakeBodyKernel(std::move(facts), std::move(body));
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
