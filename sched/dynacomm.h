// SPDX-License-Identifier: Apache-2.0
// DynaComm's problem solved exactly in O(L), and in O(L²) where a segment's cost is any table:
// the least time of a phase, and of all plans that take it one with the fewest segments.
// docs/scheduling.md has the proofs.
#pragma once

#include <functional>

#include "sched/phase.h"

namespace weft::sched {

PhasePlan PlanDynacommForward(const PhaseCosts& forward);
PhasePlan PlanDynacommBackward(const PhaseCosts& backward);

// cost(k, m): occupancy of one segment of positions k+1..m, overhead included, at least 0.
// For links whose cost is not Δt + bytes/rate: chunk rounding, size tiers, compression.
using SegmentCost = std::function<Nanos(int k, int m)>;

// `compute` is by position, [L]. O(L²) for the time, O(L² · segments) for the fewest segments.
PhasePlan PlanForwardByTable(const std::vector<Nanos>& compute, const SegmentCost& cost);
PhasePlan PlanBackwardByTable(const std::vector<Nanos>& compute, const SegmentCost& cost);

}  // namespace weft::sched
