// SPDX-License-Identifier: Apache-2.0
// What carrying a training through a job costs the device beside the computing itself: measuring
// units and link, planning, copying parameters in and gradients out. Steps with and without it take
// turns.
#pragma once

#include "apps/compute/bench_network.h"
#include "sched/strategy.h"

namespace weft::apps {

struct RuntimeBenchSetting {
  BenchNetwork::Setting network = {};
  int steps = 20;  // of each
  int64_t replan_rounds = 5;
  std::string strategy = "weave";
};

struct RuntimeBenchResult {
  int64_t local_ns = 0;   // medians of whole steps
  int64_t joined_ns = 0;  // with the runtime in place of the local update
  int64_t bare_ns = 0;    // with neither
  int64_t plans = 0;      // that were made meanwhile
};

Result<RuntimeBenchResult> BenchRuntime(const RuntimeBenchSetting& setting, const Clock& clock);

}  // namespace weft::apps
