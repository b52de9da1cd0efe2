// SPDX-License-Identifier: Apache-2.0
// A whole job in virtual time: real servers and real workers' sessions over the loopback net, with
// workers whose gradients are a function of the parameters, a disk in memory that is slow, fails
// and loses what was not synced, and faults of every kind as a seed says. Beside it runs a naive
// model of what every round must come to; the first thing that differs from it ends the run.
#pragma once

#include <cstdint>
#include <string>

namespace weft::ps {

struct SimulationResult {
  std::string violation;  // empty: everything held
  uint64_t event_hash = 0;
  int64_t delivered = 0;
  int64_t rounds_recorded = 0;  // closed slices, those done again included
  int64_t server_crashes = 0;
  int64_t worker_crashes = 0;
  int64_t virtual_ns = 0;
};

SimulationResult Simulate(uint64_t seed);

}  // namespace weft::ps
