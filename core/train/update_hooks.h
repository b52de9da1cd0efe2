// SPDX-License-Identifier: Apache-2.0
// Training on one device: a unit's parameters are moved on as soon as backward has their gradients,
// which then need not be kept. Nothing that is still to be computed in the step reads them:
// backward goes down, and what it computes again belongs to the unit it is at or to earlier ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/clock.h"
#include "core/hooks.h"
#include "core/parallel.h"
#include "core/train/network.h"
#include "core/train/optimizer.h"
#include "core/train/parameters.h"

namespace weft::train {

// Passes every call on to `next` first. Thread: the training thread.
class UpdateHooks final : public StepHooks {
 public:
  // Everything is borrowed and must outlive it.
  struct Parts {
    Parameters& parameters;
    const Network& network;
    const Optimizer& optimizer;
    std::span<float> optimizer_state;
    Parallel& parallel;
    const Clock& clock;
    StepHooks& next;
  };
  explicit UpdateHooks(const Parts& parts) : parts_(parts) {}

  // To be called before each Backward.
  void StartUpdate(const OptimizerStep& step);
  int64_t spent_ns() const { return spent_ns_; }  // since StartUpdate
  // The first unit since StartUpdate, from the last one down, whose gradients were not finite.
  std::optional<int> bad_unit() const { return bad_unit_; }

  void BeginStep(int64_t step) override { parts_.next.BeginStep(step); }
  bool BeforeForward(int unit) override { return parts_.next.BeforeForward(unit); }
  void AfterBackward(int unit) override;
  void EndStep() override { parts_.next.EndStep(); }

 private:
  const Parts parts_;
  OptimizerStep step_;
  int64_t spent_ns_ = 0;
  std::optional<int> bad_unit_;
};

}  // namespace weft::train
