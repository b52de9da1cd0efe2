// SPDX-License-Identifier: Apache-2.0
// What a joined device does between parameters and gradients: compute for real, or replay the times
// of a device that does.
#pragma once

#include <optional>
#include <vector>

#include "core/hooks.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/train/compute_step.h"
#include "core/train/metrics.h"
#include "sched/runtime/transfer_scheduler.h"

namespace weft::apps {

class RoundCompute {
 public:
  virtual ~RoundCompute() = default;

  virtual const char* name() const = 0;  // for people and programs
  // Where computing is replayed: how much longer the last step's units took than they were to.
  virtual std::optional<int64_t> late_ns() const { return std::nullopt; }
  // Where parameters go and gradients come from, unit by unit.
  virtual std::vector<sched::TransferScheduler::Unit> Units() = 0;
  // Idle outside Compute and Evaluate, and inside hooks.
  virtual Parallel& parallel() = 0;
  // The step of `round`, however often it is tried, with `hooks` around each unit.
  virtual Result<train::StepReport> Compute(int64_t round, StepHooks& hooks) = 0;
  // How often its share of the data was gone through, if that is so just before `round`.
  virtual std::optional<int64_t> EpochsBefore(int64_t round) const = 0;
  // On the test set, with the parameters as they are; only where there is one.
  virtual Result<train::Score> Evaluate() = 0;
};

}  // namespace weft::apps
