// SPDX-License-Identifier: Apache-2.0
// A discrete-event model of one job: workers that compute, their links up and down, a broker
// hop if there is one, and a server that sums. It runs any schedule, whole segments behind a
// barrier or weave's slices, and is how weave chooses its slice sizes and how a fleet is
// planned that no machine here could hold. Deterministic: same input, same nanosecond.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/phase.h"
#include "sched/schedule.h"
#include "sched/timeline.h"

namespace weft::sched {

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
