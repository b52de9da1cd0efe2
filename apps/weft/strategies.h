// SPDX-License-Identifier: Apache-2.0
// What plan and sim share: strategies from the command line, planned and simulated.
#pragma once

#include <string>
#include <vector>

#include "sched/strategy.h"

namespace weft::apps {

// Names separated by commas, each counted once; "all" stands for the five a job can run with.
Result<std::vector<sched::Strategy>> ParseStrategies(const std::string& text);

struct Outcome {
  sched::IterationPlan plan;
  sched::SimReport report;
};

// Plans `profile` by each strategy and simulates the job.
Result<std::vector<Outcome>> Evaluate(const std::vector<sched::Strategy>& strategies,
                                      const sched::CostProfile& profile,
                                      const sched::JobSetting& job);

// Time saved against `base`, in percent of it.
double SavedPercent(sched::Nanos time, sched::Nanos base);

// "12 down, 5 up", or for slices "104 both ways".
std::string MessagesText(const sched::IterationPlan& plan);

// The parts of a comma-separated list, blanks around them dropped.
std::vector<std::string> SplitAtCommas(const std::string& text);

}  // namespace weft::apps
