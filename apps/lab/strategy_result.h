// SPDX-License-Identifier: Apache-2.0
// What one strategy came to on one link: from the rounds that the workers told of. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/lab/job_lines.h"
#include "apps/lab/machine_watch.h"
#include "apps/lab/statistics.h"

namespace weft::apps {

// Which rounds count: not the first ones, in which the worker learns what things cost, nor those
// in which its first plan comes into force: for the pulls in one round, for the pushes in the next.
class WarmUp {
 public:
  explicit WarmUp(const std::string& strategy);
  // A worker's next round. True: it counts, and so do all that follow.
  bool Over(const WorkerRound& round);

 private:
  const bool plans_;  // it makes plans from what it learns
  int64_t seen_ = 0;
  std::optional<int64_t> planned_;  // so many had been seen before the round of its first plan
};

struct StrategyResult {
  std::string strategy;
  std::string invalid;  // empty, or why the numbers below are worth nothing
  int64_t rounds = 0;   // that were counted
  Spread iteration_ms;
  // Means of a worker's round; they add up to about an iteration.
  double computing_ms = 0;
  double overlapping_ms = 0;
  double waiting_ms = 0;
  std::optional<double> predicted_ms;
  std::optional<double> bound_ms;
  std::optional<double> segments_up;
  std::optional<double> segments_down;
  std::optional<double> bytes_up;
  std::optional<double> bytes_down;
  std::optional<double> delta_up_us;
  std::optional<double> delta_down_us;
  std::optional<double> mbps_up;
  std::optional<double> mbps_down;
  std::vector<WorkerRound> counted;  // the first worker's
  std::string model_hash;
  MachineFacts machine;
};

// `rounds` of each worker, the counted ones only; the first worker's tell the time. With fewer than
// kLeastRounds, or a machine that was in the way, the result is invalid.
inline constexpr size_t kLeastRounds = 3;
StrategyResult Summarise(const std::string& strategy,
                         const std::vector<std::vector<WorkerRound>>& rounds,
                         const MachineFacts& machine, const std::string& model_hash);

}  // namespace weft::apps
