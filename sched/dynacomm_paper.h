// SPDX-License-Identifier: Apache-2.0
// DynaComm's Algorithms 3 and 4 as printed (Cai et al., JSAC 2022), with the errata of
// docs/scheduling.md: O(L³) time and O(L²) memory. Kept as the yardstick for sched/dynacomm.h,
// which finds plans of the same time and segment count in O(L).
#pragma once

#include "sched/phase.h"

namespace weft::sched {

PhasePlan PlanDynacommPaperForward(const PhaseCosts& forward);
PhasePlan PlanDynacommPaperBackward(const PhaseCosts& backward);

// More units than this take the cubic algorithms minutes; callers should not start.
inline constexpr int kMaxPaperUnits = 2000;

}  // namespace weft::sched
