// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/board_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/terminal/text.h"
#include "boards/cpu_list.h"

namespace weft::apps {
namespace {

std::string MebibytesText(int64_t bytes) { return CountText(bytes >> 20) + " MiB"; }

std::string FoundText(const Board& board) {
  const boards::Facts& facts = board.facts;
  std::string text = fmt::format("board     {}: {}\n          by {}\n", board.profile->name,
                                 board.profile->description, board.recognised_by);
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<10}{}\n", what, value);
  };
  text += "\nfound\n";
  line("  model", facts.model);
  line("  tree", fmt::format("{}", fmt::join(facts.compatible, " ")));
  line("  cpu", facts.cpu.empty() ? facts.architecture : facts.cpu);
  line("  cpus",
       fmt::format("{} on {} cores", boards::CpuListText(facts.cpus), facts.one_per_core.size()));
  line("  memory", MebibytesText(facts.memory_bytes) +
                       (facts.memory_limit_bytes > 0 ? ", of which its control group allows " +
                                                           MebibytesText(facts.memory_limit_bytes)
                                                     : ""));
  text += "\nwill use\n";
  line("  cpus", fmt::format("{}, a thread on each", boards::CpuListText(board.share.cpus)));
  line("  memory",
       board.share.budget_bytes > 0
           ? fmt::format("{}, {} % of {}", MebibytesText(board.share.budget_bytes),
                         board.profile->budget_percent, MebibytesText(board.share.memory_bytes))
           : "unknown, so without a limit");
  line("  kernels", fmt::format("of {}", fmt::join(board.backends, ", then ")));
  line("  build", "preset " + board.profile->preset);
  return text;
}

std::string SpeedText(const BoardModel& model) {
  if (!model.speed) return model.no_speed.empty() ? "" : "- (" + model.no_speed + ")";
  const std::string rate = fmt::format("{:.1f}", model.speed->images_per_s);
  if (model.fit && model.speed->batch == model.fit->batch) return rate;
  return fmt::format("{} with batch {}", rate, model.speed->batch);
}

}  // namespace

std::string BoardText(const BoardReport& report) {
  std::vector<std::string> header = {"model", "batch", "memory", "computed again"};
  if (report.measured) header.emplace_back("images/s");
  Table table(header);
  for (const BoardModel& model : report.models) {
    std::vector<std::string> row = {model.name, "-", "does not fit", ""};
    if (model.fit) {
      row = {model.name, std::to_string(model.fit->batch),
             MebibytesText(static_cast<int64_t>(model.fit->bytes)),
             fmt::format("{:.0f} %", 100 * model.fit->work_again)};
    }
    if (report.measured) row.push_back(SpeedText(model));
    table.Add(std::move(row));
  }
  std::string text = FoundText(report.board) + "\n" + table.Text();
  text +=
      "\nBatches are for training in a job or alone by SGD with momentum, on images of the model's "
      "own size.\n";
  const bool left_out = std::any_of(report.models.begin(), report.models.end(), [](const auto& m) {
    return m.no_speed.starts_with("no time");
  });
  if (left_out) text += "--measure-seconds gives more time.\n";
  return text;
}

nlohmann::json BoardJson(const BoardReport& report) {
  const Board& board = report.board;
  const boards::Facts& facts = board.facts;
  nlohmann::json models = nlohmann::json::array();
  for (const BoardModel& model : report.models) {
    nlohmann::json row = {{"name", model.name}, {"batch", nullptr}};
    if (model.fit) {
      row["batch"] = model.fit->batch;
      row["memory_bytes"] = model.fit->bytes;
      row["computed_again"] = model.fit->work_again;
    }
    if (model.speed) {
      row["images_per_s"] = model.speed->images_per_s;
      row["measured_batch"] = model.speed->batch;
    }
    if (!model.no_speed.empty()) row["not_measured"] = model.no_speed;
    models.push_back(std::move(row));
  }
  return {{"board", board.profile->name},
          {"description", board.profile->description},
          {"recognised_by", board.recognised_by},
          {"preset", board.profile->preset},
          {"found",
           {{"architecture", facts.architecture},
            {"model", facts.model},
            {"compatible", facts.compatible},
            {"cpu", facts.cpu},
            {"cpus", facts.cpus},
            {"cores", facts.one_per_core.size()},
            {"memory_bytes", facts.memory_bytes},
            {"memory_limit_bytes", facts.memory_limit_bytes}}},
          {"use",
           {{"cpus", board.share.cpus},
            {"threads", board.share.cpus.size()},
            {"memory_budget_bytes", board.share.budget_bytes},
            {"backends", board.backends}}},
          {"models", models}};
}

}  // namespace weft::apps
