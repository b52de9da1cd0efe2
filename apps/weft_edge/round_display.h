// SPDX-License-Identifier: Apache-2.0
// What a person, or a program, sees of a device's part in a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/terminal/console.h"
#include "core/train/compute_step.h"
#include "core/train/metrics.h"
#include "net/worker_session.h"
#include "sched/runtime/transfer_scheduler.h"

namespace weft::apps {

class RoundDisplay {
 public:
  struct Setting {
    bool json = false;
    int64_t rounds = 0;
    std::string model = {};
    std::string strategy = {};
    std::string compute = {};
  };
  RoundDisplay(Console& console, const Setting& setting);

  // After each round: a JSON line, or the progress line drawn anew, or, where nobody watches, a
  // line now and then. `late_ns` is RoundCompute's.
  void Show(const train::StepReport& step, const sched::RoundReport& round,
            const net::WorkerSession::Traffic& traffic, std::optional<int64_t> late_ns);
  // On the test set, after so many epochs.
  void ShowScore(int64_t epoch, const train::Score& score);
  // Ends the progress line, so that other text can follow.
  void Leave();

 private:
  Console& console_;
  const Setting setting_;
  bool drawn_ = false;
  net::WorkerSession::Traffic before_;
  // Smoothed over the last rounds.
  double loss_ = 0;
  double round_s_ = 0;
  int64_t shown_ = 0;
};

}  // namespace weft::apps
