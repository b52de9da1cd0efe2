// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/strategy_result.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::apps {
namespace {

// The median of what is known.
template <typename T>
std::optional<double> MedianOf(const std::vector<WorkerRound>& rounds,
                               std::optional<T> WorkerRound::*field) {
  std::vector<double> values;
  for (const WorkerRound& round : rounds) {
    if (round.*field) values.push_back(static_cast<double>(*(round.*field)));
  }
  return values.empty() ? std::nullopt : std::optional(SpreadOf(std::move(values)).median);
}

double MeanOf(const std::vector<std::vector<WorkerRound>>& workers,
              std::optional<double> WorkerRound::*field) {
  double sum = 0;
  double count = 0;
  for (const std::vector<WorkerRound>& rounds : workers) {
    for (const WorkerRound& round : rounds) {
      sum += (round.*field).value_or(0);
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

// Of the worker that was latest; nullopt where none was to be in time.
std::optional<double> LateShare(const std::vector<std::vector<WorkerRound>>& workers) {
  std::optional<double> most;
  for (const std::vector<WorkerRound>& rounds : workers) {
    double late_ms = 0;
    double all_ms = 0;
    bool replayed = false;
    for (const WorkerRound& round : rounds) {
      replayed = replayed || round.late_ms;
      late_ms += round.late_ms.value_or(0);
      all_ms += round.total_ms.value_or(0);
    }
    if (replayed && all_ms > 0) most = std::max(most.value_or(0), late_ms / all_ms);
  }
  return most;
}

}  // namespace

// The cuts of these two are the same whatever things cost.
WarmUp::WarmUp(const std::string& strategy)
    : plans_(strategy != "sequential" && strategy != "lbl") {}

bool WarmUp::Over(const WorkerRound& round) {
  constexpr int64_t kLeastRound = 3;
  constexpr int64_t kAfterPlan = 2;
  const bool settled = !plans_ || (planned_ && seen_ - *planned_ >= kAfterPlan);
  const bool over = seen_ >= kLeastRound && settled;
  if (round.planned && !planned_) planned_ = seen_;
  ++seen_;
  return over;
}

StrategyResult Summarise(const std::string& strategy,
                         const std::vector<std::vector<WorkerRound>>& rounds,
                         const MachineFacts& machine, const std::string& model_hash) {
  StrategyResult result{.strategy = strategy, .model_hash = model_hash, .machine = machine};
  const std::vector<WorkerRound>& first = rounds.front();
  result.rounds = static_cast<int64_t>(first.size());
  std::vector<double> totals;
  for (const WorkerRound& round : first) {
    if (round.total_ms) totals.push_back(*round.total_ms);
  }
  if (totals.size() < kLeastRounds) {
    result.invalid = fmt::format(
        "only {} rounds were left after the plan was made; give more --rounds", totals.size());
    return result;
  }
  result.machine.replay_late_share = LateShare(rounds);
  result.invalid = WhyInvalid(result.machine);
  result.counted = first;
  result.iteration_ms = SpreadOf(totals);
  result.computing_ms = MeanOf(rounds, &WorkerRound::compute_ms);
  result.overlapping_ms = MeanOf(rounds, &WorkerRound::overlap_ms);
  result.waiting_ms = MeanOf(rounds, &WorkerRound::wait_ms);
  result.predicted_ms = MedianOf(first, &WorkerRound::predicted_ms);
  result.bound_ms = MedianOf(first, &WorkerRound::bound_ms);
  result.segments_up = MedianOf(first, &WorkerRound::segments_up);
  result.segments_down = MedianOf(first, &WorkerRound::segments_down);
  result.bytes_up = MedianOf(first, &WorkerRound::bytes_up);
  result.bytes_down = MedianOf(first, &WorkerRound::bytes_down);
  result.delta_up_us = MedianOf(first, &WorkerRound::delta_up_us);
  result.delta_down_us = MedianOf(first, &WorkerRound::delta_down_us);
  result.mbps_up = MedianOf(first, &WorkerRound::mbps_up);
  result.mbps_down = MedianOf(first, &WorkerRound::mbps_down);
  return result;
}

}  // namespace weft::apps
