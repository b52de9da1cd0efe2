// SPDX-License-Identifier: Apache-2.0
// Tries how fast the models that fit train here, within a given time.
#pragma once

#include <atomic>

#include "apps/weft_edge/board_report.h"
#include "core/clock.h"

namespace weft::apps {

// Sets the speed of those models of `report` that there is time for, those with the least work
// first; where a step of the model's batch would take too long, with a smaller one. Kernels are
// each backend's first guess: timing them all takes longer than this may. Ends early when `stop`
// becomes true.
Status MeasureSpeeds(BoardReport& report, double seconds, const Clock& clock,
                     const std::atomic<bool>& stop);

}  // namespace weft::apps
