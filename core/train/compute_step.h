// SPDX-License-Identifier: Apache-2.0
// What every step computes, whoever makes use of the gradients: forward, loss, backward.
#pragma once

#include <cstdint>

#include "core/clock.h"
#include "core/hooks.h"
#include "core/status.h"
#include "core/train/batch_loader.h"
#include "core/train/network.h"

namespace weft::train {

struct StepReport {
  int64_t step = 0;  // counted from 1
  EpochStep at;      // where the batch came from
  double loss = 0;
  int64_t images = 0;
  int64_t correct = 0;  // of images, by the highest logit
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t update_ns = 0;
  int64_t total_ns = 0;    // with waiting for the batch
  bool abandoned = false;  // after forward, as the hooks asked; there is no backward_ns then
};

// Everything is borrowed.
struct StepParts {
  Network& network;
  StepHooks& forward_hooks;  // also told of the step's begin and end
  StepHooks& backward_hooks;
  const Clock& clock;
  double label_smoothing = 0;
  uint64_t seed = 1;  // of random choices such as dropout's
};

// Step `number`, counted from 0, on `batch`, which must be of the network's batch size. Fills in
// all of the report but update_ns and total_ns. InvalidInput: the loss is not finite, and the
// sentence names the first layer that overflows.
Result<StepReport> ComputeStep(const StepParts& parts, int64_t number, const Batch& batch);

}  // namespace weft::train
