// SPDX-License-Identifier: Apache-2.0
// How fast a model trains on this machine: steps on made-up images, without reading data.
#pragma once

#include "apps/compute/bench_network.h"

namespace weft::apps {

struct TrainBenchSetting {
  BenchNetwork::Setting network = {};
  int steps = 10;
};

struct TrainBenchResult {
  double images_per_s = 0;  // median step
  double images_per_s_best = 0;
  int64_t step_ns = 0;  // medians
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t update_ns = 0;
  int64_t peak_rss_bytes = 0;
  double gflops = 0;      // three times forward's multiply-adds, counted as two, per median step
  double peak_share = 0;  // of what this machine's registers can do
  int threads = 0;
};

Result<TrainBenchResult> BenchTraining(const TrainBenchSetting& setting, const Clock& clock);

}  // namespace weft::apps
