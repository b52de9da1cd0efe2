// SPDX-License-Identifier: Apache-2.0
// What this machine can compute at most: float multiply-adds from registers, on several threads.
#pragma once

#include "core/clock.h"
#include "core/parallel.h"

namespace weft::bench {

// 1e9 operations a second, a multiply-add counted as two; the best of a few short runs.
double PeakGflops(Parallel& parallel, const Clock& clock);

}  // namespace weft::bench
