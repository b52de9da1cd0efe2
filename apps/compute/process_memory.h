// SPDX-License-Identifier: Apache-2.0
// How much memory this process holds, as the system counts it.
#pragma once

#include <cstdint>

namespace weft::apps {

int64_t ResidentBytes();      // now
int64_t PeakResidentBytes();  // the most it ever was

// From now on big blocks go back to the system when they are freed. By default glibc holds on to
// tens of megabytes once some have come and gone, as they do when kernels are timed.
void ReturnFreedMemory();

}  // namespace weft::apps
