// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <limits>
#include <sstream>
#include <tuple>

#include "kernels/kernel_timer.h"

namespace weft {
namespace {

std::string HwText(const model::Hw& hw) {
  return std::to_string(hw.h) + "x" + std::to_string(hw.w);
}

// What of a layer changes the work besides the shapes.
std::string DetailText(const model::Layer& layer) {
  if (const auto* conv = std::get_if<model::Conv2d>(&layer)) {
    return "k" + HwText(conv->kernel) + " s" + HwText(conv->stride) + " p" + HwText(conv->padding) +
           " d" + HwText(conv->dilation) + " g" + std::to_string(conv->groups) +
           (conv->bias ? " b" : "");
  }
  if (const auto* pool = std::get_if<model::MaxPool>(&layer)) {
    return "k" + HwText(pool->kernel) + " s" + HwText(pool->stride);
  }
  if (const auto* pool = std::get_if<model::AvgPool>(&layer)) {
    return "k" + HwText(pool->kernel) + " s" + HwText(pool->stride);
  }
  return "";
}

// Kernels of one op must agree on blocks and, where forward leaves a note, on its format.
using Signature = std::tuple<int, int, std::string>;

Signature SignatureOf(const Kernel& kernel) {
  return {kernel.src_block(), kernel.dst_block(), std::string(kernel.saved_format())};
}

}  // namespace

std::string OpKey(const OpSpec& op, Role role) {
  std::string key(model::KindName(op.layer));
  key += " " + DetailText(op.layer) + " a" + std::to_string(static_cast<int>(op.activation));
  key += op.training ? " train" : " eval";
  for (const Shape& src : op.srcs) key += " " + src.ToString();
  return key + " -> " + op.dst.ToString() + " " + RoleName(role);
}

Registry::Registry(std::vector<Backend*> backends, const Clock& clock, const Options& options)
    : backends_(std::move(backends)), clock_(clock), options_(options) {
  assert(!backends_.empty());
}

std::vector<std::unique_ptr<Kernel>> Registry::Offers(const OpSpec& op, Role role, Ask ask) {
  std::vector<std::unique_ptr<Kernel>> offers;
  for (Backend* backend : backends_) {
    try {
      for (std::unique_ptr<Kernel>& kernel : backend->Offer(op, role)) {
        if (kernel->exact() || !options_.exact) offers.push_back(std::move(kernel));
      }
    } catch (const std::exception&) {
      // A backend that fails has nothing to offer.
    }
    // The last backend is the definition: asked only where nobody else has anything.
    const bool definition_next = backends_.size() > 1 && backend == *(backends_.end() - 2);
    if (ask == Ask::kDefinitionLast && definition_next && !offers.empty()) break;
  }
  return offers;
}

std::string Registry::TimeKey(const OpSpec& op, Role role, const Kernel& kernel) const {
  return OpKey(op, role) + " by " + std::string(kernel.name()) + " on " +
         std::to_string(options_.threads);
}

bool Registry::CanTime(const OpSpec& op, Role role, const Kernel& kernel) const {
  return most_timing_bytes_ == 0 || TimingBytes(op, kernel, kernel) <= most_timing_bytes_ ||
         times_.contains(TimeKey(op, role, kernel));
}

int64_t Registry::TimeOf(const OpSpec& op, Role role, Kernel& kernel, Kernel& forward) {
  const std::string key = TimeKey(op, role, kernel);
  const auto known = times_.find(key);
  if (known != times_.end()) return known->second;
  try {
    return times_[key] = TimeKernel(op, role, kernel, forward, clock_);
  } catch (const std::exception&) {
    return std::numeric_limits<int64_t>::max();
  }
}

std::vector<Registry::TimedKernel> Registry::TimeAll(const OpSpec& op, Role role) {
  const auto forwards = Offers(op, Role::kForward, Ask::kEverybody);
  std::vector<TimedKernel> timed;
  for (const auto& kernel : Offers(op, role, Ask::kEverybody)) {
    const auto same_note = [&](const auto& forward) {
      return SignatureOf(*forward) == SignatureOf(*kernel);
    };
    const auto forward = std::find_if(forwards.begin(), forwards.end(), same_note);
    if (forward == forwards.end()) continue;
    timed.push_back(
        {std::string(kernel->name()), TimeOf(op, role, *kernel, **forward), kernel->exact()});
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const TimedKernel& a, const TimedKernel& b) { return a.ns < b.ns; });
  return timed;
}

// What it costs to bring activations into another block than the one they usually travel in, at
// the speed of memory.
int64_t Registry::ReorderNs(const OpSpec& op, const Kernel& forward) const {
  const int usual = backends_.front()->preferred_block();
  int64_t bytes = 0;
  if (op.dst.rank() == 4 && forward.dst_block() != usual) bytes += 4 * op.dst.elements();
  for (const Shape& src : op.srcs) {
    if (src.rank() == 4 && src[1] > 4 && forward.src_block() != usual) bytes += 4 * src.elements();
  }
  constexpr int64_t kBytesPerUs = 4000;
  return 2 * bytes * 1000 / kBytesPerUs;
}

OpKernels Registry::Choose(const OpSpec& op, bool backward, bool d_src) {
  const bool weighted = model::IsWeighted(op.layer);
  const bool is_add = std::holds_alternative<model::Add>(op.layer);
  const bool wants_data =
      backward && !is_add && (d_src || std::holds_alternative<model::BatchNorm>(op.layer));
  std::vector<std::unique_ptr<Kernel>> forward = Offers(op, Role::kForward, Ask::kDefinitionLast);
  std::vector<std::unique_ptr<Kernel>> data;
  std::vector<std::unique_ptr<Kernel>> weights;
  if (wants_data) data = Offers(op, Role::kBackwardData, Ask::kDefinitionLast);
  if (backward && weighted) weights = Offers(op, Role::kBackwardWeights, Ask::kDefinitionLast);
  const auto can_time = [&](const auto& offers, Role role) {
    return std::all_of(offers.begin(), offers.end(),
                       [&](const auto& kernel) { return CanTime(op, role, *kernel); });
  };
  const bool measure = options_.measure && can_time(forward, Role::kForward) &&
                       can_time(data, Role::kBackwardData) &&
                       can_time(weights, Role::kBackwardWeights);

  // In the order in which they are offered, which is what counts where nothing is measured.
  std::vector<Signature> signatures;
  for (const auto& kernel : forward) {
    const Signature mine = SignatureOf(*kernel);
    if (std::find(signatures.begin(), signatures.end(), mine) == signatures.end()) {
      signatures.push_back(mine);
    }
  }
  OpKernels best;
  int64_t best_ns = std::numeric_limits<int64_t>::max();
  for (const auto& wanted : signatures) {
    Kernel* forward_for_note = nullptr;
    const auto fastest = [&](std::vector<std::unique_ptr<Kernel>>& offers, Role role,
                             int64_t& total) -> std::unique_ptr<Kernel>* {
      std::vector<std::unique_ptr<Kernel>*> fitting;
      for (auto& kernel : offers) {
        if (kernel && SignatureOf(*kernel) == wanted) fitting.push_back(&kernel);
      }
      if (fitting.empty()) return nullptr;
      const bool choice = measure && (fitting.size() > 1 || signatures.size() > 1);
      std::unique_ptr<Kernel>* chosen = fitting.front();
      int64_t chosen_ns = std::numeric_limits<int64_t>::max();
      for (auto* kernel : fitting) {
        if (!choice) break;
        const int64_t ns =
            TimeOf(op, role, **kernel, forward_for_note ? *forward_for_note : **kernel);
        if (ns < chosen_ns) {
          chosen_ns = ns;
          chosen = kernel;
        }
      }
      if (choice && chosen_ns == std::numeric_limits<int64_t>::max()) return nullptr;
      if (choice) total += chosen_ns;
      return chosen;
    };
    int64_t ns = 0;
    std::unique_ptr<Kernel>* f = fastest(forward, Role::kForward, ns);
    if (f == nullptr) continue;
    forward_for_note = f->get();
    ns += ReorderNs(op, **f);
    std::unique_ptr<Kernel>* d = wants_data ? fastest(data, Role::kBackwardData, ns) : nullptr;
    std::unique_ptr<Kernel>* w =
        !weights.empty() ? fastest(weights, Role::kBackwardWeights, ns) : nullptr;
    if ((wants_data && d == nullptr) || (backward && weighted && w == nullptr)) continue;
    if (ns >= best_ns) continue;
    best_ns = ns;
    best = {.forward = std::move(*f),
            .backward_data = d ? std::move(*d) : nullptr,
            .backward_weights = w ? std::move(*w) : nullptr};
  }
  assert(best.forward != nullptr);
  return best;
}

std::unique_ptr<Kernel> Registry::ChooseReorder(const Shape& shape, int from_block, int to_block) {
  for (Backend* backend : backends_) {
    std::unique_ptr<Kernel> kernel = backend->OfferReorder(shape, from_block, to_block);
    if (kernel) return kernel;
  }
  assert(false && "no backend reorders");
  return nullptr;
}

std::string Registry::TimesText() const {
  std::string text;
  for (const auto& [key, ns] : times_) text += std::to_string(ns) + " " + key + "\n";
  return text;
}

void Registry::LearnTimes(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    int64_t ns = 0;
    std::string key;
    if (fields >> ns && ns > 0 && fields.get() == ' ' && std::getline(fields, key)) {
      times_[key] = ns;
    }
  }
}

}  // namespace weft
