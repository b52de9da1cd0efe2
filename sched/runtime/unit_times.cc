// SPDX-License-Identifier: Apache-2.0
#include "sched/runtime/unit_times.h"

#include <algorithm>
#include <cassert>

namespace weft::sched {

void UnitTimes::Add(std::span<const Nanos> forward, std::span<const Nanos> backward) {
  assert(forward.size() == units_ && backward.size() == units_);
  const auto slot = static_cast<size_t>(std::max<int64_t>(rounds_ - 1, 0) % kKept);
  if (slot >= kept_.size()) kept_.resize(slot + 1);
  std::vector<Nanos>& round = kept_[slot];
  round.assign(forward.begin(), forward.end());
  round.insert(round.end(), backward.begin(), backward.end());
  ++rounds_;
}

std::vector<Nanos> UnitTimes::Medians(size_t first) const {
  std::vector<Nanos> medians(units_, 0);
  if (kept_.empty()) return medians;
  std::vector<Nanos> times(kept_.size());
  for (size_t unit = 0; unit < units_; ++unit) {
    for (size_t r = 0; r < kept_.size(); ++r) times[r] = kept_[r][first + unit];
    const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    medians[unit] = *middle;
  }
  return medians;
}

}  // namespace weft::sched
