// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/board_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include "apps/board/board.h"

namespace weft::apps {
namespace {

// Threads started later inherit it. A system that refuses lets all processors be used.
void KeepTo(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

Status TakeBoardDefaults(TrainFlags& flags) {
  const Result<Board> found = FindBoard(flags.board, "");
  if (!found.ok()) return found.status();
  const Board& board = *found;
  flags.board = board.profile->name;
  std::vector<std::string> given;
  if (flags.threads == 0) {
    const size_t threads = board.share.cpus.size();
    flags.threads = static_cast<int>(threads);
    if (threads < board.facts.cpus.size()) KeepTo(board.share.cpus);
    given.push_back(fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads"));
  }
  if (flags.memory_budget.empty() && !board.BudgetText().empty()) {
    flags.memory_budget = board.BudgetText();
    flags.budget_is_boards = true;
    given.push_back("at most " + flags.memory_budget);
  }
  if (flags.backend == "auto") {
    flags.backend = board.BackendsText();
    given.push_back("kernels of " + flags.backend);
  }
  if (flags.local && flags.batch == 0) {
    const auto batch = board.profile->batch.find(flags.model);
    if (batch != board.profile->batch.end()) flags.board_batch = batch->second;
  }
  flags.board_gave = fmt::format("{}", fmt::join(given, ", "));
  return Status::Ok();
}

}  // namespace weft::apps
