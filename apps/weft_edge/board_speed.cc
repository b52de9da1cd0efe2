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
  constexpr int kMostSteps = 30;
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
  for (int step = 0; step < 2 || (clock.NowNs() - begin < ns && step <= kMostSteps); ++step) {
    const Result<BenchNetwork::StepTimes> times = (*bench)->LocalStep(step);
    if (!times.ok()) return times.status();
    if (step > 0) steps.push_back(times->total_ns);
    if (stop) break;
  }
  if (steps.empty()) return Status::Unavailable("stopped before a step was measured");
  return MedianOf(steps);
}

}  // namespace

Status MeasureSpeeds(BoardReport& report, int64_t end_ns, const Clock& clock,
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
  double ns_per_work = 0;  // of the last one: what is to be expected of the next
  for (size_t i = 0; i < candidates.size() && !stop; ++i) {
    const Candidate& candidate = candidates[i];
    const int64_t left = end_ns - clock.NowNs();
    const auto share = static_cast<double>(left) / static_cast<double>(candidates.size() - i);
    // A warm-up and a step, and the time to make the network.
    const auto expected = [&](int batch) { return 3 * ns_per_work * candidate.work * batch; };
    const auto measure = [&](int batch, double ns) {
      const Result<int64_t> step =
          StepNs(report, *candidate.model, batch, static_cast<int64_t>(ns), clock, stop);
      if (!step.ok()) return step.status();
      candidate.model->speed = {batch, 1e9 * batch / static_cast<double>(*step)};
      ns_per_work = static_cast<double>(*step) / (candidate.work * batch);
      return Status::Ok();
    };
    if (left <= 0 || expected(1) > static_cast<double>(left)) break;
    int batch = candidate.model->fit->batch;
    if (expected(batch) > share && batch > 1) {
      // One image tells more than another model did.
      if (Status status = measure(1, 0); !status.ok()) return status;
      while (batch > 1 && expected(batch) > share) batch /= 2;
      if (batch == 1) continue;
    }
    if (Status status = measure(batch, share); !status.ok()) return status;
  }
  report.measured = true;
  return Status::Ok();
}

}  // namespace weft::apps
