// SPDX-License-Identifier: Apache-2.0
// Sleeps for as long as each unit of a recorded profile takes, so that more and larger devices can
// be put on one machine than it has processors for. Everything else is real: gradients are made of
// the parameters that came, so that the job's result shows whether all of them went where they
// should. What that, or a busy machine, adds to a unit's time is told with each round.
#pragma once

#include <memory>
#include <string>

#include "apps/job/job_model.h"
#include "apps/weft_edge/round_compute.h"
#include "core/clock.h"

namespace weft::apps {

// Borrows all but the path. A refusal names what in the profile is wrong.
Result<std::unique_ptr<RoundCompute>> MakeReplayedCompute(const std::string& profile_path,
                                                          const net::WireLayout& layout,
                                                          train::Parameters& parameters, int batch,
                                                          int worker, const Clock& clock);

}  // namespace weft::apps
