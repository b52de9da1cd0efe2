// SPDX-License-Identifier: Apache-2.0
// A discrete-event model of one job: workers that compute, their links up and down, a broker
// hop if there is one, and a server that sums. It runs any schedule, whole segments behind a
// barrier or weave's slices, and is how weave chooses its slice sizes and how a fleet is
// planned that no machine here could hold. Deterministic: same input, same nanosecond.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/phase.h"
#include "sched/slicing.h"
#include "sched/timeline.h"

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

struct JobSetting {
  int workers = 1;
  int rounds = 20;
  // Workers' computing and links are each slower than the profile by up to this much, drawn from
  // `seed`; 0 makes all workers equal.
  int spread_percent = 0;
  uint64_t seed = 1;
  // Bytes of gradients the server sums per second; 0 takes no time.
  int64_t server_bytes_per_s = 0;
};

struct SimReport {
  std::vector<Nanos> commits_ns;  // [rounds]: when the server had summed the whole round
  // Averages over the later half of the rounds, where the job has settled. Forward and backward
  // are the first worker's: with a barrier from when the first parameters begin to arrive to the
  // end of forward, and from there to the last gradient's arrival, latency apart; in weave from the
  // end of one backward to the end of forward, and of backward.
  Nanos iteration_ns = 0;
  Nanos forward_ns = 0;
  Nanos backward_ns = 0;
  // The first worker's last round: what it was spent on, and from when to when it went.
  Portions forward;
  Portions backward;
  Nanos last_begin_ns = 0;
  Nanos last_end_ns = 0;
  std::vector<Span> timeline;   // the first worker, all rounds
  std::vector<int> push_order;  // the first worker's last whole round, as sent
  int64_t events = 0;
};

// Ok if the job's times cannot overflow: what workers share (broker, server) and the spread
// count too. `profile` must be valid.
Status CheckJob(const CostProfile& profile, const JobSetting& setting);

// `profile` must be valid, `setting` checked and `schedule` made from the profile.
SimReport Simulate(const CostProfile& profile, const Schedule& schedule, const JobSetting& setting);

}  // namespace weft::sched
