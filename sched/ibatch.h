// SPDX-License-Identifier: Apache-2.0
// iBatch (Wang, Pi and Zhou, AAAI 2019) as the DynaComm paper prints it, Algorithms 1 and 2: two
// greedies that make each segment's transfer just cover the computation of the one before. It
// plans the forward phase only. docs/scheduling.md says how the holes in the print are filled.
#pragma once

#include "sched/phase.h"

namespace weft::sched {

// Algorithm 1, from the first unit on. Falls back to one segment where no pair qualifies.
Cuts IbatchFromTheFront(const PhaseCosts& forward);
// Algorithm 2, from the last unit back. Falls back to one segment where no pair qualifies.
Cuts IbatchFromTheBack(const PhaseCosts& forward);
// The better of the two; on a tie the one with fewer segments, then Algorithm 1's.
PhasePlan PlanIbatchForward(const PhaseCosts& forward);

}  // namespace weft::sched
