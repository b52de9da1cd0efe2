// SPDX-License-Identifier: Apache-2.0
// `weft bench`: how fast our own parts are on this machine.
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/weft/commands.h"
#include "apps/weft/text.h"
#include "bench/planner_bench.h"
#include "core/clock.h"

namespace weft::apps {
namespace {

Status RunPlannerBench(bool as_json, Console& console) {
  const std::vector<bench::PlannerTimes> rows = bench::BenchPlanners(SteadyClock());
  nlohmann::json answer = nlohmann::json::array();
  Table table({"units", "paper O(L^3)", "any table O(L^2)", "weft O(L)", "O(L) per unit"});
  for (const bench::PlannerTimes& row : rows) {
    const auto json_of = [](const std::optional<int64_t>& ns) {
      return ns ? nlohmann::json(*ns) : nlohmann::json(nullptr);
    };
    answer.push_back({{"units", row.units},
                      {"paper_ns", json_of(row.paper_ns)},
                      {"quadratic_ns", json_of(row.quadratic_ns)},
                      {"linear_ns", row.linear_ns}});
    table.Add({std::to_string(row.units), row.paper_ns ? TimeText(*row.paper_ns) : "-",
               row.quadratic_ns ? TimeText(*row.quadratic_ns) : "-", TimeText(row.linear_ns),
               TimeText(row.linear_ns / row.units)});
  }
  if (as_json) {
    console.out << nlohmann::json{{"planner", answer}} << "\n";
  } else {
    console.out << table.Text()
                << "\nOne forward plus one backward plan, median of many; - is not waited for.\n";
  }
  return Status::Ok();
}

}  // namespace

Command AddBenchCommand(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("bench", "Measure weft's own parts on this machine");
  command->require_subcommand(1);
  CLI::App* planner = command->add_subcommand("planner", "The planners, from 19 to 10,000 units");
  planner->add_flag("--json", *as_json, "One JSON object on stdout");
  return {command, [as_json](Console& console) { return RunPlannerBench(*as_json, console); }};
}

}  // namespace weft::apps
