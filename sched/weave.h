// SPDX-License-Identifier: Apache-2.0
// weave's plan: how large slices should be on this device and this link. There is no closed
// form, since slices overtake each other, so the sizes are searched for with the simulator.
#pragma once

#include "sched/simulator.h"

namespace weft::sched {

struct WeavePlan {
  SliceSizes sizes;
  std::vector<Slice> slices = {};
  std::vector<int> push_order = {};  // in which the fleet sends slices up; indices into slices
  Nanos iteration_ns = 0;            // simulated, settled, one worker
};

// Takes 10 to 200 ms for a CNN: some dozens of short simulations. `profile` must be valid. Slices
// end at `places` (bytes of the model, rising, the last is its end), or anywhere if there are none.
WeavePlan PlanWeave(const CostProfile& profile, std::span<const int64_t> places = {});

// No schedule of a synchronous round trip can be faster than this: all computing plus one round
// trip of two segments, or all pushes, or all pulls. It knows nothing of a broker hop, which
// only adds to it.
Nanos IterationBound(const CostProfile& profile);

}  // namespace weft::sched
