// SPDX-License-Identifier: Apache-2.0
// Draws one worker's iteration in the terminal: a lane each for pulling, computing and pushing.
#pragma once

#include <string>

#include "apps/terminal/console.h"
#include "sched/simulator.h"

namespace weft::apps {

// The last simulated round, on a scale where the whole width is `full_ns`. Neighbouring segments
// differ in shade. Three lines, each ending in a newline.
std::string Gantt(const sched::SimReport& report, sched::Nanos full_ns, const Terminal& terminal);

// What the shades mean, as one line.
std::string GanttLegend(const Terminal& terminal);

}  // namespace weft::apps
