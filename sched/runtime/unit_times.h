// SPDX-License-Identifier: Apache-2.0
// How long each unit computes, forward and backward, while everything else goes on beside it: the
// median of the last rounds.
#pragma once

#include <span>
#include <vector>

#include "sched/cost_profile.h"

namespace weft::sched {

class UnitTimes {
 public:
  explicit UnitTimes(int units) : units_(static_cast<size_t>(units)) {}

  // One round's, [units] each. The first round only counts until there is a second: it warms
  // caches and chooses kernels.
  void Add(std::span<const Nanos> forward, std::span<const Nanos> backward);

  int64_t rounds() const { return rounds_; }
  // [units]; all 0 before the first round.
  std::vector<Nanos> Forward() const { return Medians(0); }
  std::vector<Nanos> Backward() const { return Medians(units_); }

 private:
  static constexpr int64_t kKept = 7;  // rounds

  std::vector<Nanos> Medians(size_t first) const;

  const size_t units_;
  int64_t rounds_ = 0;
  std::vector<std::vector<Nanos>> kept_;  // [round][forward of each unit, backward of each]
};

}  // namespace weft::sched
