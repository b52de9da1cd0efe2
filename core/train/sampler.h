// SPDX-License-Identifier: Apache-2.0
// Which samples make up a step: a permutation of the set per epoch, cut into steps, cut into
// workers. A pure function of the setting, the epoch and the step, so those two numbers are all
// that has to be saved to go on where a job stopped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"

namespace weft::train {

// A place in the stream of batches, both counted from 0.
struct EpochStep {
  int64_t epoch = 0;
  int64_t step = 0;
  friend bool operator==(const EpochStep&, const EpochStep&) = default;
};

struct SamplerSetting {
  int64_t samples = 0;  // in the whole set
  int64_t batch = 0;    // samples per step of one worker
  int worker = 0;       // of [0, workers)
  int workers = 1;
  uint64_t seed = 1;    // the same for all workers
  bool shuffle = true;  // false: in the order of the set, every epoch alike
  // What is left when full steps of all workers have been cut: dropped, as training wants it, so
  // that every worker has equally many equal batches; or kept, as evaluation wants it, so that
  // every sample is seen. Kept, a worker's last batch may be smaller, and some workers may have
  // one batch less.
  bool keep_rest = false;
};

class Sampler {
 public:
  // Refuses settings that leave this worker without a batch.
  static Result<Sampler> Create(const SamplerSetting& setting);

  int64_t steps_per_epoch() const { return steps_; }
  // The place after `at`: the next step, or the next epoch's first. A step of steps_per_epoch()
  // counts as the next epoch's step 0.
  EpochStep After(EpochStep at) const { return Settle({at.epoch, at.step + 1}); }
  EpochStep Settle(EpochStep at) const;

  // The samples of this worker's batch, `batch` of them or, last and kept, fewer. Step s of n
  // workers with batch b is together step s of one worker with batch n * b. Valid until the next
  // call; the first call for another epoch shuffles, the others only look. Thread: one at a time.
  std::span<const int32_t> Batch(EpochStep at);

 private:
  Sampler(const SamplerSetting& setting, int64_t steps);

  SamplerSetting setting_;
  int64_t steps_ = 0;
  std::vector<int32_t> order_;  // of epoch_
  int64_t epoch_ = -1;
};

}  // namespace weft::train
