// SPDX-License-Identifier: Apache-2.0
// A worker's link to a server that sums in no time, with a clock that moves when something takes
// time. Segments leave in the order of their turns, cut into messages. What comes back sets out
// when everything has arrived, or, by slices, each as soon as its own gradients have, and what is
// needed first overtakes the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
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
    const auto u = static_cast<size_t>(unit);
    for (const auto& [range, at] : pulled_) {
      const bool touches = range.first < ends_[u + 1] && range.second > ends_[u];
      if (touches) clock_.now = std::max(clock_.now, at);
    }
    return true;
  }

  void Release(int unit, std::span<const float>, std::span<const float>) override {
    SendUntil(clock_.now);
    released_[static_cast<size_t>(unit)] = true;
    int64_t begin = 0;
    for (size_t i = 0; i < plan_.push_ends.size(); ++i) {
      const Range range(begin, plan_.push_ends[i]);
      begin = range.second;
      if (queued_.contains(range) || !Released(range)) continue;
      queued_.insert(range);
      const int64_t turn = plan_.push_turns.empty() ? 0 : plan_.push_turns[i];
      waiting_.insert({.turn = turn, .range = range, .ready_ns = clock_.now});
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
  int64_t message_bytes = 1 << 30;
  bool by_slices = false;
  bool gone = false;
  std::vector<int64_t> slice_ends = {};
  int plans = 0;

 private:
  using Range = std::pair<int64_t, int64_t>;  // of floats
  struct Waiting {
    int64_t turn = 0;
    Range range = {};
    int64_t ready_ns = 0;

    bool operator<(const Waiting& other) const {
      return std::pair(turn, range) < std::pair(other.turn, other.range);
    }
  };

  bool Released(const Range& range) const {
    for (size_t unit = 0; unit < released_.size(); ++unit) {
      if (ends_[unit] < range.second && ends_[unit + 1] > range.first && !released_[unit]) {
        return false;
      }
    }
    return true;
  }

  // What may go on a line from `ready_ns` on goes when it is free; when it is through.
  int64_t Cross(bool up, const Range& range, int64_t ready_ns) {
    int64_t& line = up ? line_up_ : line_down_;
    bool follows = line > 0 && line >= ready_ns;
    int64_t begin = range.first;
    while (begin < range.second) {
      const int64_t bytes = std::min(message_bytes, 4 * (range.second - begin));
      const int64_t sent = std::max(line, ready_ns);
      line = sent + cost.Of(bytes);
      // The server's clock is another one.
      arrivals_.push_back({.up = up,
                           .begin = begin,
                           .bytes = bytes,
                           .at_ns = line + (up ? 77'000'000'000 : one_way_ns_),
                           .heard_ns = line + (up ? 2 : 1) * one_way_ns_,
                           .sent_ns = up ? sent : 0,
                           .follows = follows});
      follows = true;
      begin += bytes / 4;
    }
    return line;
  }

  // What leaves before `until_ns`.
  void SendUntil(int64_t until_ns) {
    while (!waiting_.empty() && line_up_ < until_ns) {
      const Waiting first = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      pushed_[first.range] = Cross(true, first.range, first.ready_ns) + one_way_ns_;
    }
  }

  // The round before is over: what was pushed comes back.
  void Deliver() {
    SendUntil(INT64_MAX);
    plan_ = next_;
    pulled_.clear();
    std::map<Range, int64_t> summed;  // when each may come
    int64_t begin = 0;
    for (const int64_t end : plan_.pull_ends) {
      for (const auto& [range, at] : pushed_) {
        const bool waits = !by_slices || (range.first < end && range.second > begin);
        if (waits) summed[{begin, end}] = std::max(summed[{begin, end}], at);
      }
      begin = end;
    }
    while (!summed.empty()) {
      auto next =
          std::ranges::find_if(summed, [&](const auto& s) { return s.second <= line_down_; });
      if (next == summed.end()) {
        next = std::ranges::min_element(summed, {}, [](const auto& s) { return s.second; });
      }
      pulled_[next->first] = Cross(false, next->first, next->second) + one_way_ns_;
      summed.erase(next);
    }
    pushed_.clear();
    queued_.clear();
    released_.assign(released_.size(), false);
  }

  HandClock& clock_;
  const int64_t one_way_ns_;
  std::vector<int64_t> ends_;
  TransferPlan plan_;
  TransferPlan next_;
  std::vector<bool> released_;
  std::set<Range> queued_;
  std::set<Waiting> waiting_;
  std::map<Range, int64_t> pushed_;  // when it had arrived
  std::map<Range, int64_t> pulled_;
  int64_t line_up_ = 0;
  int64_t line_down_ = 0;
  std::vector<Arrival> arrivals_;
};

}  // namespace weft::sched
