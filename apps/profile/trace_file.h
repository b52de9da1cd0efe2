// SPDX-License-Identifier: Apache-2.0
// Timelines, simulated or lived through, as a Chrome trace, which Perfetto and chrome://tracing
// show.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "sched/cost_profile.h"
#include "sched/timeline.h"

namespace weft::apps {

struct TraceTrack {
  std::string name = {};  // "vgg19 dynacomm"
  std::span<const sched::Span> timeline = {};
  std::span<const sched::UnitCost> units = {};  // for their names
};

// One process per track with a lane each for computing, pushing, pulling and, where there is any,
// planning. Failure: the file cannot be written.
Status WriteTrace(const std::string& path, const std::vector<TraceTrack>& tracks);

}  // namespace weft::apps
