// SPDX-License-Identifier: Apache-2.0
// The small job in one thread and in virtual time: its servers, its workers and the net between
// them, each worker's training carried by a scheduler as in the programs. Computing takes a
// millisecond a unit, and the workers compute in turn.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "sched/strategy.h"
#include "tests/job/lenet_job.h"

namespace weft::apps {

struct LoopbackOutcome {
  std::vector<std::string> hashes;  // of the model that each worker ended with
  std::vector<int> plans;           // that each worker made
};

// To the job's end. Unavailable: it did not come to one, and the sentence says where it stood.
Result<LoopbackOutcome> RunOverLoopback(const LenetJob& job, sched::Strategy strategy, int shards);

}  // namespace weft::apps
