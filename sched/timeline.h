// SPDX-License-Identifier: Apache-2.0
// What one worker was doing when: the spans of its lanes, and how much of a window was spent
// computing alone, computing while the link was busy, and waiting for the link.
#pragma once

#include <span>
#include <vector>

#include "sched/cost_profile.h"

namespace weft::sched {

enum class Lane { kForward, kBackward, kPull, kPush, kPlan };

struct Span {
  Lane lane = Lane::kForward;
  int round = 0;
  int first_unit = 0;
  int last_unit = 0;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
};

// The three portions of the paper's Figures 6 and 7. They add up to the window: whatever is not
// computing is waiting for communication.
struct Portions {
  Nanos computing_alone_ns = 0;
  Nanos overlapping_ns = 0;
  Nanos communicating_alone_ns = 0;

  Nanos total_ns() const { return computing_alone_ns + overlapping_ns + communicating_alone_ns; }
};

Portions PortionsOf(std::span<const Span> timeline, Nanos from_ns, Nanos to_ns);

}  // namespace weft::sched
