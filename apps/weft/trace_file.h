// SPDX-License-Identifier: Apache-2.0
// Simulated timelines as a Chrome trace, which Perfetto and chrome://tracing show.
#pragma once

#include <string>
#include <vector>

#include "sched/simulator.h"

namespace weft::apps {

struct TraceTrack {
  std::string name;  // "vgg19 dynacomm"
  const sched::SimReport* report = nullptr;
  const sched::CostProfile* profile = nullptr;
};

// One process per track with a lane each for computing, pushing and pulling. Failure: the file
// cannot be written.
Status WriteTrace(const std::string& path, const std::vector<TraceTrack>& tracks);

}  // namespace weft::apps
