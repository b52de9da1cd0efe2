// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/board_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/compute/bench_network.h"
#include "core/model/zoo.h"

namespace weft::apps {
namespace {

class NetworkTrial final : public SpeedTrial {
 public:
  explicit NetworkTrial(std::unique_ptr<BenchNetwork> bench) : bench_(std::move(bench)) {}
  Status Step() override { return bench_->LocalStep(steps_++).status(); }

 private:
  const std::unique_ptr<BenchNetwork> bench_;
  int64_t steps_ = 0;
};

struct Candidate {
  BoardModel* model = nullptr;
  double work = 0;  // multiply-adds of one image
};

class SpeedMeasurement {
 public:
  SpeedMeasurement(int64_t end_ns, const Clock& clock, const std::atomic<bool>& stop,
                   const MakeTrial& make)
      : end_ns_(end_ns), clock_(clock), stop_(stop), make_(make) {}

  // One of `models` that are left shares the time with the others.
  void Measure(const Candidate& candidate, size_t models) {
    const auto share = [&] { return static_cast<double>(Left()) / static_cast<double>(models); };
    if (stop_) return static_cast<void>(GiveUp(candidate, "stopped"));
    // What another model took may mislead by far.
    constexpr double kDoubt = 2;
    constexpr double kMoreDoubt = 10;
    if (Left() <= 0 || kDoubt * Expected(candidate, 1) > static_cast<double>(Left())) {
      return static_cast<void>(GiveUp(candidate, "no time left"));
    }
    int batch = candidate.model->fit->batch;
    if (batch > 1 && (ns_per_work_ == 0 || kMoreDoubt * Expected(candidate, batch) > share())) {
      // One image tells more than another model did.
      if (!Try(candidate, 1, 0)) return;
      while (batch > 1 && Expected(candidate, batch) > share()) batch /= 2;
      if (batch == 1) return;
    }
    Try(candidate, batch, share());
  }

 private:
  int64_t Left() const { return end_ns_ - clock_.NowNs(); }

  // What making a network, a warm-up and a step should take.
  double Expected(const Candidate& candidate, int batch) const {
    return 3 * ns_per_work_ * candidate.work * batch;
  }

  // What was found with a smaller batch stays.
  static bool GiveUp(const Candidate& candidate, const std::string& why) {
    if (!candidate.model->speed) candidate.model->no_speed = why;
    return false;
  }

  // Steps until `ns` are over, but one after the warm-up at least. Whether there is a speed.
  bool Try(const Candidate& candidate, int batch, double ns) {
    constexpr size_t kMostSteps = 30;
    const int64_t begin = clock_.NowNs();
    const Result<std::unique_ptr<SpeedTrial>> trial = make_(candidate.model->name, batch);
    if (!trial.ok()) return GiveUp(candidate, trial.status().message());
    std::vector<int64_t> steps;  // the warm-up first
    do {
      if (stop_) return GiveUp(candidate, "stopped");
      const int64_t step_begin = clock_.NowNs();
      if (Status status = (*trial)->Step(); !status.ok()) {
        return GiveUp(candidate, status.message());
      }
      steps.push_back(clock_.NowNs() - step_begin);
      ns_per_work_ = static_cast<double>(steps.back()) / (candidate.work * batch);
    } while (steps.back() <= Left() &&
             (steps.size() < 2 || (static_cast<double>(clock_.NowNs() - begin) < ns &&
                                   steps.size() <= kMostSteps && !stop_)));
    if (steps.size() < 2) {
      return GiveUp(candidate,
                    fmt::format("no time left: the first step, with batch {}, took {:.1f} s", batch,
                                static_cast<double>(steps[0]) / 1e9));
    }
    const int64_t median = MedianOf({steps.begin() + 1, steps.end()});
    candidate.model->speed = {batch, 1e9 * batch / static_cast<double>(median)};
    candidate.model->no_speed.clear();
    ns_per_work_ = static_cast<double>(median) / (candidate.work * batch);
    return true;
  }

  const int64_t end_ns_;
  const Clock& clock_;
  const std::atomic<bool>& stop_;
  const MakeTrial& make_;
  double ns_per_work_ = 0;  // of the last one: what is to be expected of the next
};

}  // namespace

MakeTrial TrialsOn(const Board& board, const Clock& clock) {
  return [&board, &clock](const std::string& model,
                          int batch) -> Result<std::unique_ptr<SpeedTrial>> {
    Result<std::unique_ptr<BenchNetwork>> bench =
        BenchNetwork::Create({.model = model,
                              .batch = batch,
                              .memory_budget = board.BudgetText(),
                              .compute = {.backend = board.BackendsText(),
                                          .threads = static_cast<int>(board.share.cpus.size()),
                                          .measure = false}},
                             clock);
    if (!bench.ok()) return bench.status();
    return std::unique_ptr<SpeedTrial>(std::make_unique<NetworkTrial>(std::move(bench).value()));
  };
}

void MeasureSpeeds(BoardReport& report, int64_t end_ns, const Clock& clock,
                   const std::atomic<bool>& stop, const MakeTrial& make) {
  report.measured = true;
  std::vector<Candidate> candidates;
  for (BoardModel& model : report.models) {
    if (!model.fit) continue;
    const Result<model::Graph> graph = model::BuildModel(model.name);
    candidates.push_back({&model, static_cast<double>(graph.value().macs())});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.work < b.work; });
  SpeedMeasurement measurement(end_ns, clock, stop, make);
  for (size_t i = 0; i < candidates.size(); ++i) {
    measurement.Measure(candidates[i], candidates.size() - i);
  }
}

}  // namespace weft::apps
