// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/train_bench.h"

#include <algorithm>

#include "apps/compute/process_memory.h"
#include "bench/peak_flops.h"

namespace weft::apps {

Result<TrainBenchResult> BenchTraining(const TrainBenchSetting& setting, const Clock& clock) {
  Result<std::unique_ptr<BenchNetwork>> created = BenchNetwork::Create(setting.network, clock);
  if (!created.ok()) return created.status();
  BenchNetwork& bench = **created;
  std::vector<int64_t> step_ns;
  std::vector<int64_t> forward_ns;
  std::vector<int64_t> backward_ns;
  std::vector<int64_t> update_ns;
  for (int step = 0; step <= setting.steps; ++step) {
    const Result<BenchNetwork::StepTimes> times = bench.LocalStep(step);
    if (!times.ok()) return times.status();
    if (step == 0) continue;  // warm-up
    step_ns.push_back(times->total_ns);
    forward_ns.push_back(times->forward_ns);
    backward_ns.push_back(times->backward_ns);
    update_ns.push_back(times->update_ns);
  }
  TrainBenchResult result;
  result.peak_rss_bytes = PeakResidentBytes();
  result.threads = bench.parallel().threads();
  result.step_ns = MedianOf(step_ns);
  result.forward_ns = MedianOf(forward_ns);
  result.backward_ns = MedianOf(backward_ns);
  result.update_ns = MedianOf(update_ns);
  const double images_e9 = 1e9 * setting.network.batch;
  result.images_per_s = images_e9 / static_cast<double>(result.step_ns);
  result.images_per_s_best =
      images_e9 / static_cast<double>(*std::min_element(step_ns.begin(), step_ns.end()));
  result.gflops = 6.0 * static_cast<double>(bench.graph().macs()) * setting.network.batch /
                  static_cast<double>(result.step_ns);
  result.peak_share = result.gflops / bench::PeakGflops(bench.parallel(), clock);
  return result;
}

}  // namespace weft::apps
