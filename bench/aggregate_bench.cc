// SPDX-License-Identifier: Apache-2.0
#include "bench/aggregate_bench.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cloud_ps/aggregator.h"
#include "core/rng.h"

namespace weft::bench {
namespace {

constexpr int kTurns = 11;
constexpr int64_t kUnitFloats = 1 << 20;
constexpr int64_t kStatistics = 1 << 12;  // of each whole unit

net::WireLayout MakeLayout(int64_t floats) {
  std::vector<net::WireUnit> units;
  for (int64_t left = floats; left > 0; left -= kUnitFloats) {
    const int64_t statistics = left >= kUnitFloats ? kStatistics : 0;
    const int64_t parameters = std::min(left, kUnitFloats) - statistics;
    units.push_back({"unit" + std::to_string(units.size()), parameters, statistics});
  }
  return net::WireLayout::Create(std::move(units)).value();
}

std::vector<float> MadeUp(int64_t floats, uint64_t stream) {
  std::vector<float> values(static_cast<size_t>(floats));
  Rng rng(1, stream);
  for (float& value : values) value = static_cast<float>(rng.Fraction() - 0.5);
  return values;
}

// All the arrays, and how to pass over them once.
class Floor {
 public:
  Floor(const AggregateSetting& setting, const train::Optimizer& optimizer)
      : layout_(MakeLayout(setting.floats)),
        aggregator_(layout_, {0, layout_.unit_count() - 1}, optimizer),
        current_(MadeUp(setting.floats, 0)),
        next_(current_),
        mean_(current_.size()),
        state_(static_cast<size_t>(aggregator_.state_floats())) {
    for (int worker = 0; worker < setting.workers; ++worker) {
      pushed_.push_back(MadeUp(setting.floats, static_cast<uint64_t>(worker) + 1));
      summands_.push_back({pushed_.back().data(), static_cast<uint32_t>(worker) + 32});
    }
  }

  int64_t BytesToMove() const {
    int64_t parameters = 0;
    for (const net::WireUnit& unit : layout_.units()) parameters += unit.parameters;
    const int64_t workers = std::ssize(pushed_);
    const int64_t state = aggregator_.state_floats() / layout_.floats();
    // The mean and what comes next are written; of parameters, what is there and the state are
    // read, and the state written.
    const int64_t floats = layout_.floats() * (workers + 2) + parameters * (1 + 2 * state);
    return floats * static_cast<int64_t>(sizeof(float));
  }

  void Aggregate(Parallel& parallel) {
    const ps::ServerArrays arrays{current_, next_, state_};
    ++step_.number;
    aggregator_.Aggregate(step_, {0, layout_.floats()}, summands_, mean_, arrays, parallel);
    std::swap(current_, next_);
  }

  void Copy(Parallel& parallel) {
    parallel.For(layout_.floats(), [&](int64_t begin, int64_t end) {
      std::memcpy(next_.data() + begin, current_.data() + begin,
                  static_cast<size_t>(end - begin) * sizeof(float));
    });
  }

  void Triad(Parallel& parallel) {
    parallel.For(layout_.floats(), [&](int64_t begin, int64_t end) {
      float* __restrict a = next_.data();
      const float* __restrict b = current_.data();
      const float* __restrict c = mean_.data();
      for (int64_t i = begin; i < end; ++i) a[i] = b[i] + 0.5f * c[i];
    });
  }

 private:
  net::WireLayout layout_;
  ps::Aggregator aggregator_;
  train::OptimizerStep step_ = {.number = 0, .learning_rate = 1e-4};
  std::vector<float> current_;
  std::vector<float> next_;
  std::vector<float> mean_;
  std::vector<float> state_;
  std::vector<std::vector<float>> pushed_;
  std::vector<ps::Summand> summands_;
};

int64_t Median(std::vector<int64_t> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double GbPerS(int64_t bytes, int64_t ns) {
  return static_cast<double>(bytes) / static_cast<double>(ns);
}

AggregateSpeed Measure(Floor& floor, int64_t array_bytes, Parallel& parallel, const Clock& clock) {
  std::vector<int64_t> aggregate, copy, triad;
  const auto time = [&](auto method, std::vector<int64_t>& times) {
    const int64_t begin = clock.NowNs();
    (floor.*method)(parallel);
    times.push_back(std::max<int64_t>(clock.NowNs() - begin, 1));
  };
  floor.Aggregate(parallel);  // brings every page in
  for (int turn = 0; turn < kTurns; ++turn) {
    time(&Floor::Copy, copy);
    time(&Floor::Aggregate, aggregate);
    time(&Floor::Triad, triad);
  }
  AggregateSpeed speed;
  speed.bytes = floor.BytesToMove();
  speed.aggregate_ns = Median(aggregate);
  speed.aggregate_gb_per_s = GbPerS(speed.bytes, speed.aggregate_ns);
  speed.copy_gb_per_s = GbPerS(2 * array_bytes, Median(copy));
  speed.triad_gb_per_s = GbPerS(3 * array_bytes, Median(triad));
  return speed;
}

}  // namespace

Result<AggregateSpeed> BenchAggregation(const AggregateSetting& setting, Parallel& parallel,
                                        const Clock& clock) {
  assert(setting.floats > 0 && setting.workers > 0);
  Result<train::Optimizer> optimizer = train::Optimizer::Create(setting.optimizer);
  if (!optimizer.ok()) return optimizer.status();
  try {
    Floor floor(setting, *optimizer);
    return Measure(floor, setting.floats * static_cast<int64_t>(sizeof(float)), parallel, clock);
  } catch (const std::bad_alloc&) {
    return Status::Unavailable("there is not enough memory for " + std::to_string(setting.floats) +
                               " floats from each of " + std::to_string(setting.workers) +
                               " workers; ask for fewer");
  }
}

}  // namespace weft::bench
