// SPDX-License-Identifier: Apache-2.0
#include "sched/schedule.h"

#include <cassert>
#include <utility>

namespace weft::sched {
namespace {

// One message per segment; `cuts` in positions of forward order.
std::vector<Message> Segments(const CostProfile& profile, const Cuts& cuts, Nanos overhead,
                              Nanos UnitCost::*transfer) {
  std::vector<Message> messages;
  for (size_t j = 1; j < cuts.size(); ++j) {
    Message message{.first_unit = cuts[j - 1] + 1, .last_unit = cuts[j], .link_ns = overhead};
    for (int u = message.first_unit; u <= message.last_unit; ++u) {
      message.bytes += profile.units[u - 1].bytes;
      message.link_ns += profile.units[u - 1].*transfer;
      // Unit by unit, so that the sum is the one the chain planner plans with.
      if (profile.broker) {
        message.broker_ns += TransferNs(profile.units[u - 1].bytes, profile.broker->bytes_per_s);
      }
    }
    if (profile.broker) message.broker_ns += profile.broker->overhead_ns;
    messages.push_back(message);
  }
  return messages;
}

}  // namespace

Nanos BrokerNs(const CostProfile& profile, int64_t bytes) {
  if (!profile.broker) return 0;
  return profile.broker->overhead_ns + TransferNs(bytes, profile.broker->bytes_per_s);
}

Schedule ScheduleSegments(const CostProfile& profile, const Cuts& forward, const Cuts& backward) {
  return {
      .push = Segments(profile, Reversed(backward), profile.push_overhead_ns, &UnitCost::push_ns),
      .pull = Segments(profile, forward, profile.pull_overhead_ns, &UnitCost::pull_ns)};
}

Schedule ScheduleSlices(const CostProfile& profile, const std::vector<Slice>& slices,
                        std::vector<int> push_order) {
  assert(push_order.empty() || push_order.size() == slices.size());
  Schedule schedule{.weave = true, .push_order = std::move(push_order)};
  for (const Slice& slice : slices) {
    const Nanos broker_ns = BrokerNs(profile, slice.bytes);
    Message message{.first_unit = slice.first_unit,
                    .last_unit = slice.last_unit,
                    .bytes = slice.bytes,
                    .link_ns = profile.push_overhead_ns + slice.push_ns,
                    .broker_ns = broker_ns};
    schedule.push.push_back(message);
    message.link_ns = profile.pull_overhead_ns + slice.pull_ns;
    schedule.pull.push_back(message);
  }
  return schedule;
}

}  // namespace weft::sched
