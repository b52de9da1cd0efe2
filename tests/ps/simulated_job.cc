// SPDX-License-Identifier: Apache-2.0
#include "tests/ps/simulated_job.h"

#include "core/clock.h"

namespace weft::ps {

using net::FloatRange;

SimulatedJob::SimulatedJob(uint64_t seed) : rng(seed, 1) {
  const int unit_count = static_cast<int>(rng.Between(3, 7));
  std::vector<net::WireUnit> units;
  for (int i = 0; i < unit_count; ++i) {
    units.push_back({.name = "u" + std::to_string(i),
                     .parameters = rng.Between(1, 40),
                     .statistics = rng.Between(0, 1) * rng.Between(0, 6)});
  }
  layout.emplace(*net::WireLayout::Create(units));
  workers = static_cast<int>(rng.Between(1, 4));
  shards = static_cast<int>(rng.Between(0, 2) == 0 ? rng.Between(2, 3) : 1);
  rounds = rng.Between(2, 5);
  strict = rng.Between(0, 2) != 0 || workers == 1;
  quorum = strict ? workers : static_cast<int>(rng.Between(1, workers - 1));
  deadline_ns = strict ? 0 : rng.Between(1, 5) * kNsPerSecond;
  slice_floats = rng.Between(0, 1) == 0 ? 0 : rng.Between(5, 60);
  segment_bytes = 4 * rng.Between(4, 64);
  window_bytes = segment_bytes * rng.Between(1, 6);
  checkpoint_every = rng.Between(1, 4);
  whole_versions = rng.Between(0, 3) == 0;
  replan_percent = rng.Between(0, 1) * rng.Between(0, 100);
  for (int w = 0; w < workers; ++w) batch.push_back(static_cast<uint32_t>(rng.Between(1, 64)));
  const train::OptimizerSpec spec =
      rng.Between(0, 1) == 0
          ? train::OptimizerSpec(train::Sgd{.momentum = 0.9, .weight_decay = 1e-4})
          : train::OptimizerSpec(train::AdamW{});
  optimizer.emplace(*train::Optimizer::Create(spec));
  hash[0] = std::byte{7};
}

std::vector<float> SimulatedJob::Gradients(const std::vector<float>& values, int w,
                                           int64_t round) const {
  float sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] * static_cast<float>(i % 7 + 1);
  std::vector<float> out(values.size());
  for (int unit = 0; unit < layout->unit_count(); ++unit) {
    const FloatRange p = layout->Parameters(unit);
    const FloatRange s = layout->Statistics(unit);
    for (int64_t i = p.begin; i < s.end; ++i) {
      Rng noise(static_cast<uint64_t>(i * 1000 + w), static_cast<uint64_t>(round));
      const auto place = static_cast<size_t>(i);
      const float random = static_cast<float>(noise.Fraction()) - 0.5f;
      out[place] = i < p.end ? 0.01f * values[place] + 0.001f * sum + random
                             : 0.9f * values[place] + 0.1f * random;
    }
  }
  return out;
}

}  // namespace weft::ps
