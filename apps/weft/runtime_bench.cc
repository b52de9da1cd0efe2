// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/runtime_bench.h"

#include "apps/job/job_model.h"
#include "core/copy_floats.h"
#include "sched/runtime/transfer_scheduler.h"

namespace weft::apps {
namespace {

// Has everything at once and takes everything at once, and tells of segments as they would cross a
// link of 100 MB/s that changes by a quarter now and then, so that there is something to plan.
class EchoChannel final : public ParamChannel {
 public:
  EchoChannel(const net::WireLayout& layout, const Clock& clock, Parallel& parallel)
      : layout_(layout),
        clock_(clock),
        parallel_(parallel),
        floats_(static_cast<size_t>(layout.floats()), 0.0f) {}

  bool TakeUnit(int unit, std::span<float> parameters, std::span<float> statistics) override {
    if (!filled_) return true;
    // As many bytes as a real one copies; they stay what they were.
    const std::span<float> from = Place(floats_, unit);
    CopyFloats(from.first(parameters.size()), parameters, parallel_);
    CopyFloats(from.last(statistics.size()), statistics, parallel_);
    Tell(false, unit);
    return true;
  }
  void Release(int unit, std::span<const float> gradients,
               std::span<const float> statistics) override {
    const std::span<float> to = Place(gradients_, unit);
    CopyFloats(gradients, to.first(gradients.size()), parallel_);
    CopyFloats(statistics, to.last(statistics.size()), parallel_);
    Tell(true, unit);
  }
  void Use(const TransferPlan&) override { ++plans; }
  void TakeArrivals(std::vector<Arrival>& arrivals) override {
    arrivals.insert(arrivals.end(), arrivals_.begin(), arrivals_.end());
    arrivals_.clear();
    ++rounds_;
  }
  int64_t round_trip_ns() const override { return 10'000'000; }

  // What TakeUnit gives from now on.
  void Fill(const UnitTensors& tensors) {
    tensors.ToWire({0, layout_.unit_count() - 1}, floats_);
    gradients_ = floats_;
    filled_ = true;
  }

  int64_t plans = 0;

 private:
  std::span<float> Place(std::vector<float>& floats, int unit) const {
    const net::FloatRange range = layout_.Units(unit, unit);
    return std::span(floats).subspan(static_cast<size_t>(range.begin),
                                     static_cast<size_t>(range.size()));
  }
  void Tell(bool up, int unit) {
    const int64_t bytes = 4 * layout_.Units(unit, unit).size();
    int64_t& line = up ? up_ns_ : down_ns_;
    line += 200'000 + bytes * (rounds_ / 7 % 2 == 0 ? 10 : 13);
    arrivals_.push_back({.up = up,
                         .begin = layout_.Units(unit, unit).begin,
                         .bytes = bytes,
                         .at_ns = line,
                         .heard_ns = clock_.NowNs(),
                         .follows = true});
  }

  const net::WireLayout& layout_;
  const Clock& clock_;
  Parallel& parallel_;
  std::vector<float> floats_;
  std::vector<float> gradients_;
  bool filled_ = false;
  int64_t rounds_ = 0;
  int64_t up_ns_ = 0;
  int64_t down_ns_ = 0;
  std::vector<Arrival> arrivals_;
};

}  // namespace

Result<RuntimeBenchResult> BenchRuntime(const RuntimeBenchSetting& setting, const Clock& clock) {
  Result<sched::Strategy> strategy = sched::ParseStrategy(setting.strategy, sched::JobStrategies());
  if (!strategy.ok()) return strategy.status();
  Result<std::unique_ptr<BenchNetwork>> created = BenchNetwork::Create(setting.network, clock);
  if (!created.ok()) return created.status();
  BenchNetwork& bench = **created;
  const net::WireLayout layout = WireLayoutOf(bench.graph()).value();
  const UnitTensors tensors(bench.parameters());
  EchoChannel channel(layout, clock, bench.parallel());
  std::vector<sched::TransferScheduler::Unit> units;
  for (int unit = 0; unit < layout.unit_count(); ++unit) {
    units.push_back({.name = layout.units()[static_cast<size_t>(unit)].name,
                     .parameters = tensors.Values(unit),
                     .statistics = tensors.Statistics(unit),
                     .gradients = bench.network().Gradients(unit)});
  }
  sched::TransferScheduler scheduler(
      {.strategy = *strategy, .replan_rounds = setting.replan_rounds, .message_bytes = 128 << 10},
      std::move(units), channel, clock);
  NullHooks nothing;
  channel.Fill(tensors);
  std::vector<int64_t> local_ns;
  std::vector<int64_t> joined_ns;
  std::vector<int64_t> bare_ns;
  for (int step = 0; step <= setting.steps; ++step) {
    const Result<BenchNetwork::StepTimes> local = bench.LocalStep(step);
    if (!local.ok()) return local.status();
    const Result<BenchNetwork::StepTimes> joined = bench.HookedStep(step, scheduler);
    if (!joined.ok()) return joined.status();
    const Result<BenchNetwork::StepTimes> bare = bench.HookedStep(step, nothing);
    if (!bare.ok()) return bare.status();
    if (step == 0) continue;  // warm-up
    local_ns.push_back(local->total_ns);
    joined_ns.push_back(joined->total_ns);
    bare_ns.push_back(bare->total_ns);
  }
  return RuntimeBenchResult{.local_ns = MedianOf(local_ns),
                            .joined_ns = MedianOf(joined_ns),
                            .bare_ns = MedianOf(bare_ns),
                            .plans = channel.plans - 1};
}

}  // namespace weft::apps
