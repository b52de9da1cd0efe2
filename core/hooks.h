// SPDX-License-Identifier: Apache-2.0
// The only tie from training to the network: calls before each unit's forward and after each
// unit's backward. A collaborative trainer waits for parameters in one and releases gradients in
// the other; a local one does nothing.
#pragma once

#include <cstdint>

namespace weft {

// Thread: the training thread. Units count from 0, first layer first.
class StepHooks {
 public:
  virtual ~StepHooks() = default;
  virtual void BeginStep(int64_t step) = 0;
  // On return the unit's parameters are those this step is to compute with. True if they have
  // changed since its last forward.
  virtual bool BeforeForward(int unit) = 0;
  // The last unit's forward is done; its loss and all backwards come next.
  virtual void EndForward() {}
  // The unit's gradients are complete and stay untouched until its next backward.
  virtual void AfterBackward(int unit) = 0;
  virtual void EndStep() = 0;
  // Asked between forward and backward: whether what was computed is of no use to anybody.
  virtual bool Abandoned() const { return false; }
};

class NullHooks final : public StepHooks {
 public:
  void BeginStep(int64_t) override {}
  bool BeforeForward(int) override { return false; }
  void AfterBackward(int) override {}
  void EndStep() override {}
};

}  // namespace weft
