// SPDX-License-Identifier: Apache-2.0
// Runs a job over emulated links by one strategy after the other, and measures it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/lab/companions.h"
#include "apps/lab/job_setting.h"
#include "apps/lab/lab_network.h"
#include "apps/lab/scratch.h"
#include "apps/lab/strategy_result.h"
#include "apps/terminal/console.h"
#include "core/status.h"

namespace weft::apps {

// What a lab works with; all of it borrowed.
struct LabTools {
  const Companions& companions;
  const Scratch& scratch;
  LabNetwork& network;
  int stop_file = -1;  // for poll: readable once somebody wants everything to end
  Console& console;
  bool silent = false;  // nothing is drawn while it runs
};

// Which kernels are quickest is measured once, by nobody else but one device alone, and known to
// all from then on: else they would choose differently, and end with different bits. False:
// stopped.
Result<bool> LearnKernelTimes(const JobSetting& job, const LabTools& tools);

// One strategy, `job.strategy`. Nullopt: stopped. Unavailable: a program failed.
Result<std::optional<StrategyResult>> MeasureStrategy(const JobSetting& job,
                                                      const std::string& title,
                                                      const LabTools& tools);

}  // namespace weft::apps
