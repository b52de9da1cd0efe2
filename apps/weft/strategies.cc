// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace weft::apps {

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(part);
  }
  return parts;
}

Result<std::vector<sched::Strategy>> ParseStrategies(const std::string& text) {
  std::vector<sched::Strategy> strategies;
  const auto add = [&](sched::Strategy strategy) {
    const bool known =
        std::find(strategies.begin(), strategies.end(), strategy) != strategies.end();
    if (!known) strategies.push_back(strategy);
  };
  for (const std::string& name : SplitAtCommas(text)) {
    if (name == "all") {
      for (sched::Strategy strategy : sched::JobStrategies()) add(strategy);
      continue;
    }
    Result<sched::Strategy> strategy = sched::ParseStrategy(name);
    if (!strategy.ok()) return strategy.status();
    add(*strategy);
  }
  if (strategies.empty()) return sched::ParseStrategy("").status();
  return strategies;
}

Result<std::vector<Outcome>> Evaluate(const std::vector<sched::Strategy>& strategies,
                                      const sched::CostProfile& profile,
                                      const sched::JobSetting& job) {
  if (Status status = sched::CheckJob(profile, job); !status.ok()) return status;
  std::vector<Outcome> outcomes;
  for (sched::Strategy strategy : strategies) {
    Result<sched::IterationPlan> plan = sched::PlanIteration(strategy, profile);
    if (!plan.ok()) return plan.status();
    sched::SimReport report = sched::Simulate(profile, sched::ScheduleOf(profile, *plan), job);
    outcomes.push_back({std::move(plan).value(), std::move(report)});
  }
  return outcomes;
}

double SavedPercent(sched::Nanos time, sched::Nanos base) {
  if (base == 0) return 0;
  return 100 * (1 - static_cast<double>(time) / static_cast<double>(base));
}

std::string MessagesText(const sched::IterationPlan& plan) {
  if (plan.weave) return fmt::format("{} both ways", plan.weave->slices.size());
  return fmt::format("{} down, {} up", plan.forward.segments(), plan.backward.segments());
}

}  // namespace weft::apps
