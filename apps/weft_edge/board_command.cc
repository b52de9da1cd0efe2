// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/board_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/compute/process_memory.h"
#include "apps/weft_edge/board_report.h"
#include "apps/weft_edge/board_speed.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

struct BoardFlags {
  std::string board = "auto";
  std::string root;
  std::string model;
  bool measure = false;
  double measure_seconds = 120;
  bool json = false;
};

// What fits of the model, or of the whole zoo.
Status FindFits(const BoardFlags& flags, const Clock& clock, BoardReport& report) {
  const Board& board = report.board;
  Result<std::unique_ptr<ComputeStack>> compute =
      ComputeStack::Create({.backend = board.BackendsText(),
                            .threads = static_cast<int>(board.share.cpus.size()),
                            .measure = false},
                           clock);
  if (!compute.ok()) return compute.status();
  const auto held = static_cast<size_t>(ResidentBytes());
  for (const model::ZooEntry& entry : model::Zoo()) {
    if (!flags.model.empty() && flags.model != entry.name) continue;
    const Result<model::Graph> graph = model::BuildModel(entry.name);
    if (!graph.ok()) return graph.status();
    const auto batch = board.profile->batch.find(std::string(entry.name));
    const FitQuestion question{.batch = batch == board.profile->batch.end() ? 1 : batch->second,
                               .budget_bytes = static_cast<size_t>(board.share.budget_bytes),
                               .held_bytes = held,
                               .copies = 2};
    report.models.push_back({std::string(entry.name), FitBatch(*graph, question, **compute)});
  }
  if (report.models.empty()) return model::BuildModel(flags.model).status();
  return Status::Ok();
}

Status ShowBoard(const BoardFlags& flags, Console& console, const std::atomic<bool>& stop) {
  Result<Board> board = FindBoard(flags.board, flags.root);
  if (!board.ok()) return board.status();
  BoardReport report{.board = std::move(board).value(), .models = {}};
  const SteadyClock clock;
  const int64_t begin = clock.NowNs();
  if (Status status = FindFits(flags, clock, report); !status.ok()) return status;
  if (flags.measure) {
    const int64_t end = begin + static_cast<int64_t>(1e9 * flags.measure_seconds);
    MeasureSpeeds(report, end, clock, stop, TrialsOn(report.board, clock));
  }
  if (flags.json) {
    console.out << BoardJson(report) << "\n";
  } else {
    console.out << BoardText(report);
  }
  return Status::Ok();
}

}  // namespace

Command AddBoardCommand(CLI::App& app, const std::atomic<bool>& stop) {
  auto flags = std::make_shared<BoardFlags>();
  CLI::App* board =
      app.add_subcommand("board", "What this machine is, what will be used, which models fit");
  board->add_option("--board", flags->board, "auto, or the profile of boards/ to take it for")
      ->capture_default_str();
  board->add_option("--root", flags->root,
                    "Look at DIR/proc and DIR/sys instead of this machine's");
  board->add_option("--model", flags->model, "Only this model of the zoo");
  board->add_flag("--measure", flags->measure, "Train each for a while, to see how fast");
  board->add_option("--measure-seconds", flags->measure_seconds, "Time for all that")
      ->check(PositiveUpTo(86400))
      ->capture_default_str();
  board->add_flag("--json", flags->json, "One JSON object on stdout");
  return {board, [flags, &stop](Console& console) { return ShowBoard(*flags, console, stop); }};
}

}  // namespace weft::apps
