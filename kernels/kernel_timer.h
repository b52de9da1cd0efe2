// SPDX-License-Identifier: Apache-2.0
// Times one kernel on made-up data of its op's size.
#pragma once

#include "core/clock.h"
#include "core/kernel.h"

namespace weft {

// The memory that timing `kernel` takes: made-up data, parameters and gradients included.
size_t TimingBytes(const OpSpec& op, const Kernel& kernel, const Kernel& forward);

// Nanoseconds of the fastest of a few runs after a warm-up. `forward` is run once first to leave
// its note where `kernel` is a backward that reads one; it may be `kernel` itself.
int64_t TimeKernel(const OpSpec& op, Role role, Kernel& kernel, Kernel& forward,
                   const Clock& clock);

}  // namespace weft
