// SPDX-License-Identifier: Apache-2.0
// Trains: a batch, forward, loss, backward, update, again. Everything a step needs is borrowed and
// ready; a step allocates nothing. What must survive a crash goes in and out as one state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/hooks.h"
#include "core/parallel.h"
#include "core/train/batch_loader.h"
#include "core/train/compute_step.h"
#include "core/train/metrics.h"
#include "core/train/network.h"
#include "core/train/optimizer.h"
#include "core/train/parameters.h"
#include "core/train/schedule.h"
#include "core/train/storage.h"
#include "core/train/update_hooks.h"

namespace weft::train {

struct TrainerSetting {
  double learning_rate = 0.1;
  Schedule schedule;
  int64_t total_steps = 0;  // what the schedule is stretched over
  double label_smoothing = 0;
  uint64_t seed = 1;
};

// Thread: one at a time; hooks are called on it.
class Trainer {
 public:
  // Everything is borrowed and must outlive it.
  struct Parts {
    Parameters& parameters;
    Network& network;
    const Optimizer& optimizer;
    StepHooks& hooks;
    Parallel& parallel;
    const Clock& clock;
  };
  Trainer(const Parts& parts, const TrainerSetting& setting);

  // One step on the loader's next batch, which must be of the network's batch size. InvalidInput:
  // the loss or a gradient is not finite, and the sentence names the first layer or unit that went
  // wrong; then training is over, and what was saved before is what there is.
  Result<StepReport> Step(BatchLoader& loader);

  int64_t steps_done() const { return steps_done_; }
  // Where the next batch comes from: what to start a loader with after Restore.
  EpochStep position() const { return position_; }

  // `fingerprint` names everything a resumed run must share with this one: model, data,
  // optimizer, seed. Restore refuses a state with another, and returns a sentence for people if the
  // newest save was damaged and this is an older one, or "".
  Status Save(Storage& storage, const std::string& fingerprint) const;
  Result<std::string> Restore(Storage& storage, const std::string& fingerprint);

 private:
  Parts parts_;
  const TrainerSetting setting_;
  std::vector<float> optimizer_state_;
  UpdateHooks update_;
  int64_t steps_done_ = 0;
  EpochStep position_;
};

// Runs one epoch of `loader` through an evaluation network; the last batch may be smaller.
Result<Score> Evaluate(Network& network, BatchLoader& loader);

}  // namespace weft::train
