// SPDX-License-Identifier: Apache-2.0
// Puts together what a planner needs to know from what a running job shows: unit times from the
// training, the link's costs from the segments that cross it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sched/runtime/link_fit.h"
#include "sched/runtime/unit_times.h"
#include "sched/strategy.h"

namespace weft::sched {

class Profiler {
 public:
  struct Unit {
    std::string name = {};
    int64_t bytes = 0;  // that travel
  };
  // `message_bytes`: larger segments travel as several messages, each of which costs Δt.
  Profiler(std::vector<Unit> units, int64_t message_bytes);

  void Add(const Arrival& arrival) { (arrival.up ? up_ : down_).Add(arrival); }
  void EndRound(std::span<const Nanos> forward, std::span<const Nanos> backward,
                Nanos round_trip_ns);

  std::optional<LinkCost> up() const { return up_.Fit(); }
  std::optional<LinkCost> down() const { return down_.Fit(); }
  Nanos round_trip_ns() const { return round_trip_ns_; }
  int64_t rounds() const { return times_.rounds(); }

  // Nullopt: not enough has been seen of the link or of the training. Each unit pays for the
  // messages that it needs beyond the first, as if it travelled alone.
  std::optional<CostProfile> Profile() const;
  // The same for what `plan` cuts: small units that travel together can be more than one message,
  // which none of them is alone. Slices, which lie across units, pay as their units do.
  std::optional<CostProfile> ProfileOf(const IterationPlan& plan) const;

 private:
  int64_t MoreMessages(int64_t bytes) const { return bytes > 0 ? (bytes - 1) / message_bytes_ : 0; }

  const std::vector<Unit> units_;
  const int64_t message_bytes_;
  UnitTimes times_;
  LinkFit up_;
  LinkFit down_;
  Nanos round_trip_ns_ = 0;
};

// How much longer, or shorter, the slower of the two takes in whichever of computing, pushing and
// pulling everything has changed most: 0.1 is a tenth.
double Change(const CostProfile& before, const CostProfile& now);

}  // namespace weft::sched
