// SPDX-License-Identifier: Apache-2.0
// Profiles of the zoo's models under a described machine and link.
#pragma once

#include <string_view>
#include <vector>

#include "core/model/units.h"
#include "core/model/zoo.h"
#include "sched/cost_profile.h"

namespace weft::sched {

// An edge server on such a link.
inline Setting EdgeSetting(int mbps) {
  return {.batch = 32,
          .gflops = 150,
          .backward_ratio = 2,
          .bytes_per_s = mbps * int64_t{125'000},
          .overhead_ns = 5'000'000,
          .rtt_ns = 10'000'000};
}

inline CostProfile ZooProfile(std::string_view model, const Setting& setting) {
  std::vector<UnitWork> work;
  for (const model::Unit& unit : model::CutIntoUnits(model::BuildModel(model).value())) {
    work.push_back({unit.name, unit.bytes, unit.macs});
  }
  return EstimateProfile(work, setting).value();
}

}  // namespace weft::sched
