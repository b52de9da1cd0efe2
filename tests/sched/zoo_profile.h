// SPDX-License-Identifier: Apache-2.0
// Profiles of the zoo's models under a described machine and link.
#pragma once

#include <string_view>
#include <vector>

#include "core/model/units.h"
#include "core/model/zoo.h"
#include "sched/cost_profile.h"

namespace weft::sched {

inline CostProfile ZooProfile(std::string_view model, const Setting& setting) {
  std::vector<UnitWork> work;
  for (const model::Unit& unit : model::CutIntoUnits(model::BuildModel(model).value())) {
    work.push_back({unit.name, unit.bytes, unit.macs});
  }
  return EstimateProfile(work, setting).value();
}

}  // namespace weft::sched
