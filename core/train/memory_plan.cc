// SPDX-License-Identifier: Apache-2.0
#include "core/train/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace weft::train {
namespace {

constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool Meet(const BufferUse& a, const BufferUse& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// Calls use(bytes) with what is in use after each change.
template <typename Use>
void ForEachUse(const std::vector<BufferUse>& buffers, const Use& use) {
  std::map<int, ptrdiff_t> change;  // by step, of the bytes in use
  for (const BufferUse& buffer : buffers) {
    change[buffer.first_step] += static_cast<ptrdiff_t>(Aligned(buffer.bytes));
    change[buffer.last_step + 1] -= static_cast<ptrdiff_t>(Aligned(buffer.bytes));
  }
  ptrdiff_t now = 0;
  for (const auto& [step, bytes] : change) use(static_cast<size_t>(now += bytes));
}

}  // namespace

MemoryPlan PlanMemory(const std::vector<BufferUse>& buffers) {
  MemoryPlan plan{.offsets = std::vector<size_t>(buffers.size(), 0)};
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<int> placed;  // by offset
  for (int index : order) {
    const BufferUse& buffer = buffers[index];
    if (buffer.bytes == 0) continue;
    size_t offset = 0;
    for (int other : placed) {
      if (!Meet(buffer, buffers[other])) continue;
      if (offset + Aligned(buffer.bytes) <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + Aligned(buffers[other].bytes));
    }
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + Aligned(buffer.bytes));
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](size_t o, int p) { return o < plan.offsets[p]; });
    placed.insert(at, index);
  }
  return plan;
}

size_t PeakUse(const std::vector<BufferUse>& buffers) {
  size_t most = 0;
  ForEachUse(buffers, [&](size_t bytes) { most = std::max(most, bytes); });
  return most;
}

size_t UseBeyond(const std::vector<BufferUse>& buffers, size_t limit) {
  size_t beyond = 0;
  ForEachUse(buffers, [&](size_t bytes) { beyond += bytes - std::min(bytes, limit); });
  return beyond;
}

}  // namespace weft::train
