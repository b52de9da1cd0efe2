// SPDX-License-Identifier: Apache-2.0
// Everything is done block by block, each small enough to stay in a core's own cache from the sum
// to the optimizer, so that memory is passed over once. CMakeLists.txt has this file vectorised
// and forbids it fused multiply-adds, so that all machines round alike.
#include "cloud_ps/aggregator.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "cloud_ps/number_checks.h"

namespace weft::ps {
namespace {

constexpr int64_t kBlock = 4096;  // floats

size_t Size(int64_t count) { return static_cast<size_t>(count); }

// sum = w0 * g0
void Begin(float weight, const float* __restrict g, float* __restrict sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] = weight * g[i];
}

void Add(float weight, const float* __restrict g, float* __restrict sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += weight * g[i];
}

// The last addition, and the division by the sum of all weights.
void AddAndDivide(float weight, const float* __restrict g, float total, float* __restrict sum,
                  int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] = (sum[i] + weight * g[i]) / total;
}

// mean[i] = (w0 * g0[i] + w1 * g1[i] + ...) / (w0 + w1 + ...), from the left. What one worker sent
// is its own mean to the last bit, which a product and a quotient would not leave it.
void Average(std::span<const Summand> summands, float total, int64_t begin, int64_t count,
             float* mean) {
  if (summands.size() == 1) {
    std::memcpy(mean, summands[0].floats + begin, Size(count) * sizeof(float));
    return;
  }
  const auto weight = [&](size_t i) { return static_cast<float>(summands[i].weight); };
  const size_t last = summands.size() - 1;
  Begin(weight(0), summands[0].floats + begin, mean, count);
  for (size_t i = 1; i < last; ++i) Add(weight(i), summands[i].floats + begin, mean, count);
  AddAndDivide(weight(last), summands[last].floats + begin, total, mean, count);
}

// Calls body(begin, end) for blocks that together are `slice`, on several threads. Whether all of
// them answered true.
template <typename Body>
bool ForBlocks(net::FloatRange slice, Parallel& parallel, const Body& body) {
  std::atomic<bool> finite = true;
  const auto run = [&](int64_t first, int64_t last) {
    bool all = true;
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = slice.begin + block * kBlock;
      all &= body(net::FloatRange{begin, std::min(begin + kBlock, slice.end)});
    }
    if (!all) finite.store(false, std::memory_order_relaxed);
  };
  parallel.For((slice.size() + kBlock - 1) / kBlock, run);
  return finite;
}

}  // namespace

Aggregator::Aggregator(const net::WireLayout& layout, net::WireLayout::UnitRange units,
                       const train::Optimizer& optimizer)
    : optimizer_(optimizer) {
  const net::FloatRange all = layout.Units(units.first, units.last);
  floats_ = all.size();
  for (int unit = units.first; unit <= units.last; ++unit) {
    borders_.push_back(layout.Parameters(unit).end - all.begin);
    borders_.push_back(layout.Statistics(unit).end - all.begin);
  }
}

bool Aggregator::Aggregate(const train::OptimizerStep& step, net::FloatRange slice,
                           std::span<const Summand> summands, std::span<float> mean,
                           const ServerArrays& arrays, Parallel& parallel) const {
  assert(!summands.empty() && std::ssize(mean) == slice.size());
  uint64_t weights = 0;
  for (const Summand& summand : summands) {
    assert(summand.weight >= 1);
    weights += summand.weight;
  }
  const float total = static_cast<float>(weights);
  return ForBlocks(slice, parallel, [&](net::FloatRange block) {
    float* const mean_of_block = mean.data() + (block.begin - slice.begin);
    Average(summands, total, block.begin, block.size(), mean_of_block);
    return MoveBlock(step, block, mean_of_block, arrays);
  });
}

bool Aggregator::Redo(const train::OptimizerStep& step, const JournalRecord& record,
                      const ServerArrays& arrays, Parallel& parallel) const {
  assert(std::ssize(record.mean) == record.slice.size());
  return ForBlocks(record.slice, parallel, [&](net::FloatRange block) {
    const float* const mean = record.mean.data() + (block.begin - record.slice.begin);
    return MoveBlock(step, block, mean, arrays);
  });
}

bool Aggregator::MoveBlock(const train::OptimizerStep& step, net::FloatRange block,
                           const float* mean, const ServerArrays& arrays) const {
  assert(std::ssize(arrays.current) == floats_ && std::ssize(arrays.next) == floats_);
  assert(std::ssize(arrays.state) == state_floats());
  assert(0 <= block.begin && block.begin < block.end && block.end <= floats_);
  const std::span<const float> means(mean, Size(block.size()));
  const train::OptimizerArrays optimized{.parameters = arrays.next,
                                         .gradients = means,
                                         .state = arrays.state,
                                         .gradients_begin = block.begin};
  Serial serial;
  bool finite = true;
  int64_t at = block.begin;
  // The run that `at` is in: even ones are parameters.
  size_t run = Size(std::upper_bound(borders_.begin(), borders_.end(), at) - borders_.begin());
  for (; at < block.end; ++run) {
    const int64_t end = std::min(borders_[run], block.end);
    const size_t bytes = Size(end - at) * sizeof(float);
    if (bytes == 0) continue;
    const std::span<const float> next(arrays.next.data() + at, Size(end - at));
    if (run % 2 == 0) {
      std::memcpy(arrays.next.data() + at, arrays.current.data() + at, bytes);
      finite &= optimizer_.Apply(step, optimized, at, end, serial);
      for (int64_t state = 0; state < optimizer_.state_per_parameter(); ++state) {
        finite &= AllFinite({arrays.state.data() + (state * floats_ + at), next.size()});
      }
    } else {
      std::memcpy(arrays.next.data() + at, mean + (at - block.begin), bytes);
    }
    finite &= AllFinite(next);
    at = end;
  }
  return finite;
}

}  // namespace weft::ps
