// SPDX-License-Identifier: Apache-2.0
// The two ends of the scale: everything in one segment, and one segment per unit (Poseidon's
// wait-free order). Neither looks at the costs; they are valid in both directions.
#pragma once

#include "sched/phase.h"

namespace weft::sched {

Cuts SequentialCuts(int length);
Cuts LayerByLayerCuts(int length);

}  // namespace weft::sched
