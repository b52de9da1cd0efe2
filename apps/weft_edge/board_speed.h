// SPDX-License-Identifier: Apache-2.0
// Tries how fast the models that fit train here, until a given time.
#pragma once

#include <atomic>

#include "apps/weft_edge/board_report.h"
#include "core/clock.h"

namespace weft::apps {

// Sets the speed of those models of `report` that there is time for, those with the least work
// first; where a step of the model's batch would take too long, with a smaller one. Kernels are
// each backend's first guess: timing them all takes longer than this may. No model is begun that is
// not expected to be done by then, judged by the one before it. Ends early when `stop` becomes
// true.
Status MeasureSpeeds(BoardReport& report, int64_t end_ns, const Clock& clock,
                     const std::atomic<bool>& stop);

}  // namespace weft::apps
