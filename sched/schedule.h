// SPDX-License-Identifier: Apache-2.0
// What travels in every round of a job, both ways, and what each of its messages costs the lines it
// goes by: made of a plan's cuts or of weave's slices, run by the simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/phase.h"
#include "sched/slicing.h"

namespace weft::sched {

// One segment or slice as it travels in every round.
struct Message {
  int first_unit = 0;  // 1-based, inclusive
  int last_unit = 0;
  int64_t bytes = 0;
  Nanos link_ns = 0;    // occupancy of the worker's link, overhead included
  Nanos broker_ns = 0;  // occupancy of the broker hop, overhead included
};

// What travels, in unit order in both directions, and by which rule.
struct Schedule {
  std::vector<Message> push = {};
  std::vector<Message> pull = {};
  // false: parameters leave the server when the whole model is summed, in order, and gradients
  // leave the worker in the order they are ready. true (weave): push[i] and pull[i] are the same
  // slice; it comes down once summed, and a more urgent one overtakes others before each send:
  // on the way down the lower unit, on the way up the one that `push_order` names first.
  bool weave = false;
  // Indices into push, most urgent first; empty: lower units first. One order for the whole
  // fleet keeps workers of different speed sending the same slices at about the same time, and
  // a slice is only worth something once every worker's copy is in.
  std::vector<int> push_order = {};
};

// Plans in positions, as the planners make them.
Schedule ScheduleSegments(const CostProfile& profile, const Cuts& forward, const Cuts& backward);
Schedule ScheduleSlices(const CostProfile& profile, const std::vector<Slice>& slices,
                        std::vector<int> push_order = {});

// What a broker is occupied with a message of so many bytes; 0 without a broker.
Nanos BrokerNs(const CostProfile& profile, int64_t bytes);

}  // namespace weft::sched
