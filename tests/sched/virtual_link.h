// SPDX-License-Identifier: Apache-2.0
// A worker's link to a server that sums in no time, with a clock that moves when something takes
// time: pushes leave in the order of their turns, and when the last has arrived all pulls set out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/clock.h"
#include "core/param_channel.h"

namespace weft::sched {

struct HandClock final : Clock {
  int64_t NowNs() const override { return now; }
  int64_t now = 1'000'000;
};

class VirtualLink final : public ParamChannel {
 public:
  struct Cost {
    int64_t overhead_ns = 0;
    int64_t ns_per_byte = 0;

    int64_t Of(int64_t bytes) const { return overhead_ns + ns_per_byte * bytes; }
  };

  VirtualLink(HandClock& clock, std::vector<int64_t> unit_floats, Cost each, int64_t one_way_ns)
      : cost(each), clock_(clock), one_way_ns_(one_way_ns) {
    ends_.push_back(0);
    for (const int64_t floats : unit_floats) ends_.push_back(ends_.back() + floats);
    released_.assign(unit_floats.size(), false);
    next_.push_ends.assign(ends_.begin() + 1, ends_.end());
    next_.pull_ends = next_.push_ends;
  }

  bool TakeUnit(int unit, std::span<float>, std::span<float>) override {
    if (gone) return false;
    if (unit == 0) Deliver();
    const auto last = std::lower_bound(plan_.pull_ends.begin(), plan_.pull_ends.end(),
                                       ends_[static_cast<size_t>(unit) + 1]);
    const auto at = pulled_.find(*last);
    if (at != pulled_.end()) clock_.now = std::max(clock_.now, at->second);
    return true;
  }

  void Release(int unit, std::span<const float>, std::span<const float>) override {
    released_[static_cast<size_t>(unit)] = true;
    int64_t begin = 0;
    for (size_t i = 0; i < plan_.push_ends.size(); ++i) {
      const int64_t end = plan_.push_ends[i];
      if (!pushed_.contains(end) && Released(begin, end)) {
        const bool busy = line_up_ > clock_.now;
        const int64_t bytes = 4 * (end - begin);
        line_up_ = std::max(line_up_, clock_.now) + cost.Of(bytes);
        pushed_[end] = line_up_ + one_way_ns_;
        // The server's clock is another one.
        arrivals_.push_back({.up = true,
                             .begin = begin,
                             .bytes = bytes,
                             .at_ns = line_up_ + 77'000'000'000,
                             .heard_ns = line_up_ + 2 * one_way_ns_,
                             .follows = busy});
      }
      begin = end;
    }
  }

  void Use(const TransferPlan& plan) override {
    next_ = plan;
    if (plan_.push_ends.empty()) plan_ = plan;
    ++plans;
  }
  void TakeArrivals(std::vector<Arrival>& arrivals) override {
    arrivals.insert(arrivals.end(), arrivals_.begin(), arrivals_.end());
    arrivals_.clear();
  }
  std::vector<int64_t> SliceEnds() const override { return slice_ends; }
  int64_t round_trip_ns() const override { return 2 * one_way_ns_; }

  const TransferPlan& plan() const { return plan_; }

  Cost cost;
  bool gone = false;
  std::vector<int64_t> slice_ends = {};
  int plans = 0;

 private:
  bool Released(int64_t begin, int64_t end) const {
    for (size_t unit = 0; unit < released_.size(); ++unit) {
      if (ends_[unit] < end && ends_[unit + 1] > begin && !released_[unit]) return false;
    }
    return true;
  }

  // The round before is over: what was pushed comes back.
  void Deliver() {
    int64_t summed = 0;
    for (const auto& [end, at] : pushed_) summed = std::max(summed, at);
    plan_ = next_;
    pulled_.clear();
    if (!pushed_.empty()) {
      int64_t line = summed;
      int64_t begin = 0;
      for (const int64_t end : plan_.pull_ends) {
        const int64_t bytes = 4 * (end - begin);
        line += cost.Of(bytes);
        pulled_[end] = line + one_way_ns_;
        arrivals_.push_back({.up = false,
                             .begin = begin,
                             .bytes = bytes,
                             .at_ns = line + one_way_ns_,
                             .heard_ns = line + one_way_ns_,
                             .follows = begin > 0});
        begin = end;
      }
    }
    pushed_.clear();
    released_.assign(released_.size(), false);
  }

  HandClock& clock_;
  const int64_t one_way_ns_;
  std::vector<int64_t> ends_;
  TransferPlan plan_;
  TransferPlan next_;
  std::vector<bool> released_;
  std::map<int64_t, int64_t> pushed_;  // end of a segment: when it arrived
  std::map<int64_t, int64_t> pulled_;
  int64_t line_up_ = 0;
  std::vector<Arrival> arrivals_;
};

}  // namespace weft::sched
