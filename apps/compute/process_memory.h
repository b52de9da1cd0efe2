// SPDX-License-Identifier: Apache-2.0
// How much memory this process holds, as the system counts it.
#pragma once

#include <cstdint>

namespace weft::apps {

int64_t ResidentBytes();      // now
int64_t PeakResidentBytes();  // the most it ever was

}  // namespace weft::apps
