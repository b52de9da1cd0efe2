// SPDX-License-Identifier: Apache-2.0
// How the learning rate changes from step to step: a factor for the base rate. All lengths are in
// steps (optimizer updates), never in epochs; step 0 is the first.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace weft::train {

enum class Decay { kConstant, kStep, kCosine };

// A linear warm-up, then a decay that counts its steps from where the warm-up ends.
struct Schedule {
  Decay decay = Decay::kConstant;
  int64_t step_every = 1;  // kStep: times gamma after each so many steps
  double gamma = 0.1;
  int64_t warmup_steps = 0;  // step i of these has the factor (i + 1) / warmup_steps

  // The factor at `step` of a job that is to take `total_steps`, as torch.optim.lr_scheduler has
  // it (LinearLR, StepLR and CosineAnnealingLR down to 0). A cosine stays at 0 after the last step.
  double FactorAt(int64_t step, int64_t total_steps) const;
};

// "constant", "step:30:0.1" (every 30 steps times 0.1) or "cosine", and "+warmup:500" behind any
// of them. InvalidInput says what is wrong and what would be right.
Result<Schedule> ParseSchedule(std::string_view text);

}  // namespace weft::train
