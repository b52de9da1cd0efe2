// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/replayed_compute.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "apps/profile/profile_file.h"

namespace weft::apps {
namespace {

class ReplayedCompute final : public RoundCompute {
 public:
  ReplayedCompute(sched::CostProfile profile, const net::WireLayout& layout,
                  train::Parameters& parameters, int batch, int worker, const Clock& clock)
      : profile_(std::move(profile)),
        layout_(layout),
        tensors_(parameters),
        batch_(batch),
        factor_(0.01f / static_cast<float>(worker + 1)),
        clock_(clock) {
    size_t largest = 0;
    for (int unit = 0; unit < parameters.units(); ++unit) {
      largest = std::max(largest, tensors_.Values(unit).size());
    }
    gradients_.resize(largest);
    // Otherwise every sleep is longer by 50 us, and there are hundreds in a step.
    prctl(PR_SET_TIMERSLACK, 1000UL);
  }

  const char* name() const override { return "replay"; }
  std::optional<int64_t> late_ns() const override { return late_ns_; }

  std::vector<sched::TransferScheduler::Unit> Units() override {
    std::vector<sched::TransferScheduler::Unit> units;
    for (int unit = 0; unit < profile_.unit_count(); ++unit) {
      const std::span<float> values = tensors_.Values(unit);
      units.push_back({.name = layout_.units()[static_cast<size_t>(unit)].name,
                       .parameters = values,
                       .statistics = tensors_.Statistics(unit),
                       .gradients = std::span<const float>(gradients_).first(values.size())});
    }
    return units;
  }

  Parallel& parallel() override { return serial_; }

  Result<train::StepReport> Compute(int64_t round, StepHooks& hooks) override {
    train::StepReport report{.step = round + 1, .images = batch_};
    late_ns_ = 0;
    hooks.BeginStep(round);
    for (int unit = 0; unit < profile_.unit_count(); ++unit) {
      hooks.BeforeForward(unit);
      if (hooks.Abandoned()) break;
      Take(clock_.NowNs(), profile_.units[static_cast<size_t>(unit)].forward_ns);
    }
    hooks.EndForward();
    report.abandoned = hooks.Abandoned();
    for (int unit = profile_.unit_count() - 1; unit >= 0 && !report.abandoned; --unit) {
      const int64_t begin = clock_.NowNs();
      const std::span<const float> values = tensors_.Values(unit);
      for (size_t i = 0; i < values.size(); ++i) gradients_[i] = factor_ * values[i];
      Take(begin, profile_.units[static_cast<size_t>(unit)].backward_ns);
      hooks.AfterBackward(unit);
    }
    hooks.EndStep();
    return report;
  }

  std::optional<int64_t> EpochsBefore(int64_t) const override { return std::nullopt; }

  Result<train::Score> Evaluate() override {
    return Status::InvalidInput("a replayed job learns nothing that could be measured");
  }

 private:
  // Until `ns` after `begin_ns`; later where the gradients took longer to make, or the machine was
  // slow to wake us.
  void Take(int64_t begin_ns, int64_t ns) {
    const int64_t end_ns = begin_ns + ns;
    const int64_t left = end_ns - clock_.NowNs();
    if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
    late_ns_ += std::max<int64_t>(0, clock_.NowNs() - end_ns);
  }

  const sched::CostProfile profile_;
  const net::WireLayout& layout_;
  const UnitTensors tensors_;
  const int batch_;
  const float factor_;
  Serial serial_;
  const Clock& clock_;
  std::vector<float> gradients_;  // of one unit at a time
  int64_t late_ns_ = 0;           // all units of the last step together
};

}  // namespace

Result<std::unique_ptr<RoundCompute>> MakeReplayedCompute(const std::string& profile_path,
                                                          const net::WireLayout& layout,
                                                          train::Parameters& parameters, int batch,
                                                          int worker, const Clock& clock) {
  Result<sched::CostProfile> profile = ReadProfileFile(profile_path);
  if (!profile.ok()) return profile.status();
  if (profile->unit_count() != parameters.units()) {
    return Status::InvalidInput(profile_path + ": has " + std::to_string(profile->unit_count()) +
                                " units and the job's model has " +
                                std::to_string(parameters.units()) +
                                "; record or estimate a profile of the same model");
  }
  return std::unique_ptr<RoundCompute>(std::make_unique<ReplayedCompute>(
      std::move(profile).value(), layout, parameters, batch, worker, clock));
}

}  // namespace weft::apps
