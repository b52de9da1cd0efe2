// SPDX-License-Identifier: Apache-2.0
// A strategy's plan, in units and positions, as the cuts a channel makes, in floats.
#pragma once

#include "core/param_channel.h"
#include "sched/strategy.h"

namespace weft::sched {

// `plan` must be of this profile, whose bytes are those that travel.
TransferPlan TransfersOf(const CostProfile& profile, const IterationPlan& plan);

// Segments, or slices, of `plan` in each direction.
int PushSegments(const IterationPlan& plan);
int PullSegments(const IterationPlan& plan);

}  // namespace weft::sched
