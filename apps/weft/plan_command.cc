// SPDX-License-Identifier: Apache-2.0
// `weft plan`: a measured profile in, the plans of the strategies out.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/profile/profile_file.h"
#include "apps/terminal/text.h"
#include "apps/weft/commands.h"
#include "apps/weft/gantt.h"
#include "apps/weft/strategies.h"

namespace weft::apps {
namespace {

struct PlanFlags {
  std::string profile;
  std::string strategy = "all";
  bool json = false;
};

nlohmann::json PlanJson(const sched::IterationPlan& plan) {
  nlohmann::json answer = {
      {"strategy", sched::Name(plan.strategy)},
      {"forward", {{"cuts", plan.forward.cuts}, {"ns", plan.forward.ns}}},
      {"backward",
       {{"cuts", sched::BackwardCutsAsUnits(plan.backward.cuts)}, {"ns", plan.backward.ns}}},
      {"iteration_ns", plan.iteration_ns}};
  if (plan.weave) {
    answer["slices"] = {{"count", plan.weave->slices.size()},
                        {"first_bytes", plan.weave->sizes.first_bytes},
                        {"largest_bytes", plan.weave->sizes.largest_bytes}};
  }
  return answer;
}

void PrintPlans(const std::vector<Outcome>& outcomes, const sched::CostProfile& profile,
                Console& console) {
  const sched::Nanos sequential =
      sched::PlanIteration(sched::Strategy::kSequential, profile).value().iteration_ns;
  const sched::Nanos bound = sched::IterationBound(profile);
  Table table({"strategy", "forward", "backward", "iteration", "saved", "messages"});
  sched::Nanos longest = 1;
  for (const auto& [plan, report] : outcomes) {
    longest = std::max(longest, report.last_end_ns - report.last_begin_ns);
    table.Add({std::string(sched::Name(plan.strategy)), TimeText(plan.forward.ns),
               TimeText(plan.backward.ns), TimeText(plan.iteration_ns),
               PercentText(SavedPercent(plan.iteration_ns, sequential)), MessagesText(plan)});
  }
  table.Add({"bound", "", "", TimeText(bound), PercentText(SavedPercent(bound, sequential)), ""});
  console.out << table.Text() << "\n" << GanttLegend(console.terminal);
  for (const auto& [plan, report] : outcomes) {
    console.out << "\n"
                << sched::Name(plan.strategy) << ", " << TimeText(plan.iteration_ns) << "\n"
                << Gantt(report, longest, console.terminal);
  }
}

Status RunPlan(const PlanFlags& flags, Console& console) {
  Result<std::vector<sched::Strategy>> strategies = ParseStrategies(flags.strategy);
  if (!strategies.ok()) return strategies.status();
  Result<sched::CostProfile> profile = ReadProfileFile(flags.profile);
  if (!profile.ok()) return profile.status();
  console.log.Debug(fmt::format("{}: {} units", flags.profile, profile->unit_count()));
  Result<std::vector<Outcome>> outcomes = Evaluate(*strategies, *profile, {.rounds = 8});
  if (!outcomes.ok()) return outcomes.status();
  if (!flags.json) {
    PrintPlans(*outcomes, *profile, console);
    return Status::Ok();
  }
  if (outcomes->size() == 1) {
    console.out << PlanJson(outcomes->front().plan) << "\n";
    return Status::Ok();
  }
  nlohmann::json plans = nlohmann::json::array();
  for (const Outcome& outcome : *outcomes) plans.push_back(PlanJson(outcome.plan));
  console.out << nlohmann::json{{"plans", plans}, {"bound_ns", sched::IterationBound(*profile)}}
              << "\n";
  return Status::Ok();
}

}  // namespace

Command AddPlanCommand(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command =
      app.add_subcommand("plan", "Plan an iteration from a measured profile (docs/profile.md)");
  command->add_option("--profile", flags->profile, "JSON file with the costs of every unit")
      ->required();
  command->add_option("--strategy", flags->strategy,
                      "sequential, lbl, ibatch, dynacomm, weave, dynacomm_paper, dynacomm_hops, "
                      "several with commas, or all (the first five)");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  return {command, [flags](Console& console) { return RunPlan(*flags, console); }};
}

}  // namespace weft::apps
