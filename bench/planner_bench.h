// SPDX-License-Identifier: Apache-2.0
// How long planning takes: the paper's O(L³), the O(L²) that takes any cost table, and the O(L)
// planner, side by side on the same profiles.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/clock.h"

namespace weft::bench {

// Nanoseconds for one forward plus one backward plan, median of many; empty where the algorithm
// is not worth waiting for.
struct PlannerTimes {
  int units = 0;
  std::optional<int64_t> paper_ns = {};
  std::optional<int64_t> quadratic_ns = {};
  int64_t linear_ns = 0;
};

// From 19 units (VGG-19) to 10,000, on seeded profiles. Takes some seconds.
std::vector<PlannerTimes> BenchPlanners(const Clock& clock);

}  // namespace weft::bench
