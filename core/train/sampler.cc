// SPDX-License-Identifier: Apache-2.0
#include "core/train/sampler.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>
#include <utility>

#include "core/rng.h"

namespace weft::train {
namespace {

// Keeps the order of samples apart from whatever else is drawn from the job's seed.
constexpr uint64_t kShuffleSalt = 0x73616D706C657273u;

}  // namespace

Result<Sampler> Sampler::Create(const SamplerSetting& setting) {
  const int64_t samples = setting.samples;
  const int64_t batch = setting.batch;
  const int worker = setting.worker;
  const int workers = setting.workers;
  if (samples < 1 || samples > INT32_MAX) {
    return Status::InvalidInput("a set of " + std::to_string(samples) +
                                " samples cannot be cut into batches; give 1 to 2147483647");
  }
  if (batch < 1 || batch > INT32_MAX) {
    return Status::InvalidInput("a batch of " + std::to_string(batch) +
                                " samples cannot be made; give at least 1");
  }
  if (workers < 1 || worker < 0 || worker >= workers) {
    return Status::InvalidInput("there is no worker " + std::to_string(worker) + " of " +
                                std::to_string(workers) + "; workers are counted from 0");
  }
  // Neither product overflows: batch and workers are below 2^31.
  const int64_t all_workers = batch * workers;
  const int64_t rest = samples % all_workers;
  const int64_t steps =
      samples / all_workers + (setting.keep_rest && rest > worker * batch ? 1 : 0);
  if (steps == 0) {
    return Status::InvalidInput(std::to_string(samples) + " samples leave worker " +
                                std::to_string(worker) + " of " + std::to_string(workers) +
                                " without a batch of " + std::to_string(batch) +
                                "; give a smaller batch or fewer workers");
  }
  return Sampler(setting, steps);
}

Sampler::Sampler(const SamplerSetting& setting, int64_t steps)
    : setting_(setting), steps_(steps), order_(static_cast<size_t>(setting.samples)) {
  std::iota(order_.begin(), order_.end(), 0);
}

EpochStep Sampler::Settle(EpochStep at) const {
  return at.step == steps_ ? EpochStep{at.epoch + 1, 0} : at;
}

std::span<const int32_t> Sampler::Batch(EpochStep at) {
  assert(at.epoch >= 0 && at.step >= 0 && at.step < steps_);
  if (setting_.shuffle && at.epoch != epoch_) {
    std::iota(order_.begin(), order_.end(), 0);
    Rng rng(setting_.seed ^ kShuffleSalt, static_cast<uint64_t>(at.epoch));
    for (int64_t last = setting_.samples - 1; last > 0; --last) {  // Fisher and Yates
      std::swap(order_[last], order_[rng.Between(0, last)]);
    }
    epoch_ = at.epoch;
  }
  // order_ is [step][worker][batch], cut short in the last step.
  const int64_t begin = (at.step * setting_.workers + setting_.worker) * setting_.batch;
  const int64_t count = std::min(setting_.batch, setting_.samples - begin);
  return std::span<const int32_t>(order_).subspan(begin, count);
}

}  // namespace weft::train
