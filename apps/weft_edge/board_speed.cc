// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/board_speed.h"

#include <algorithm>

#include "apps/compute/bench_network.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

struct Candidate {
  BoardModel* model = nullptr;
  double work = 0;  // multiply-adds of one image
};

// Steps of `model` in batches of `batch` until `ns` are over, but one after the warm-up at least.
Result<int64_t> StepNs(const BoardReport& report, const BoardModel& model, int batch, int64_t ns,
                       const Clock& clock, const std::atomic<bool>& stop) {
  const int64_t begin = clock.NowNs();
  Result<std::unique_ptr<BenchNetwork>> bench =
      BenchNetwork::Create({.model = model.name,
                            .batch = batch,
                            .memory_budget = report.board.BudgetText(),
                            .compute = {.backend = report.board.BackendsText(),
                                        .threads = static_cast<int>(report.board.share.cpus.size()),
                                        .measure = false}},
                           clock);
  if (!bench.ok()) return bench.status();
  std::vector<int64_t> steps;
  for (int step = 0; step < 2 || (clock.NowNs() - begin < ns && step < 1000); ++step) {
    const Result<BenchNetwork::StepTimes> times = (*bench)->LocalStep(step);
    if (!times.ok()) return times.status();
    if (step > 0) steps.push_back(times->total_ns);
    if (stop) break;
  }
  if (steps.empty()) return Status::Unavailable("stopped before a step was measured");
  return MedianOf(steps);
}

}  // namespace

Status MeasureSpeeds(BoardReport& report, double seconds, const Clock& clock,
                     const std::atomic<bool>& stop) {
  std::vector<Candidate> candidates;
  for (BoardModel& model : report.models) {
    if (!model.fit) continue;
    const Result<model::Graph> graph = model::BuildModel(model.name);
    if (!graph.ok()) return graph.status();
    candidates.push_back({&model, static_cast<double>(graph->macs())});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.work < b.work; });
  const int64_t end = clock.NowNs() + static_cast<int64_t>(1e9 * seconds);
  double ns_per_work = 0;  // of the slowest so far: what is to be expected of the next
  for (size_t i = 0; i < candidates.size() && !stop; ++i) {
    const Candidate& candidate = candidates[i];
    const int64_t left = end - clock.NowNs();
    const int64_t share = left / static_cast<int64_t>(candidates.size() - i);
    int batch = candidate.model->fit->batch;
    // A warm-up and a step, and the time to make the network.
    const auto expected = [&] { return 3 * ns_per_work * candidate.work * batch; };
    while (batch > 1 && expected() > static_cast<double>(share)) batch /= 2;
    if (left <= 0 || expected() > static_cast<double>(left)) break;
    const Result<int64_t> ns = StepNs(report, *candidate.model, batch, share, clock, stop);
    if (!ns.ok()) return ns.status();
    candidate.model->speed = {batch, 1e9 * batch / static_cast<double>(*ns)};
    ns_per_work = std::max(ns_per_work, static_cast<double>(*ns) / (candidate.work * batch));
  }
  report.measured = true;
  return Status::Ok();
}

}  // namespace weft::apps
