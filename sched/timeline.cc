// SPDX-License-Identifier: Apache-2.0
#include "sched/timeline.h"

#include <algorithm>
#include <utility>

namespace weft::sched {
namespace {

using Interval = std::pair<Nanos, Nanos>;

bool Computes(const Span& span) {
  return span.lane == Lane::kForward || span.lane == Lane::kBackward;
}

bool Travels(const Span& span) { return span.lane == Lane::kPull || span.lane == Lane::kPush; }

// The times within [from, to) covered by computing, or by the link, as disjoint intervals.
std::vector<Interval> Covered(std::span<const Span> timeline, bool computing, Nanos from,
                              Nanos to) {
  std::vector<Interval> all;
  for (const Span& span : timeline) {
    const Interval clipped(std::max(span.begin_ns, from), std::min(span.end_ns, to));
    const bool counts = computing ? Computes(span) : Travels(span);
    if (counts && clipped.first < clipped.second) all.push_back(clipped);
  }
  std::sort(all.begin(), all.end());
  std::vector<Interval> merged;
  for (const Interval& interval : all) {
    if (!merged.empty() && interval.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, interval.second);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

}  // namespace

Portions PortionsOf(std::span<const Span> timeline, Nanos from_ns, Nanos to_ns) {
  const std::vector<Interval> computing = Covered(timeline, true, from_ns, to_ns);
  const std::vector<Interval> linking = Covered(timeline, false, from_ns, to_ns);
  Nanos computed = 0;
  Nanos both = 0;
  auto link = linking.begin();
  for (const Interval& compute : computing) {
    computed += compute.second - compute.first;
    while (link != linking.end() && link->second <= compute.first) ++link;
    for (auto l = link; l != linking.end() && l->first < compute.second; ++l) {
      both += std::min(l->second, compute.second) - std::max(l->first, compute.first);
    }
  }
  return {.computing_alone_ns = computed - both,
          .overlapping_ns = both,
          .communicating_alone_ns = to_ns - from_ns - computed};
}

}  // namespace weft::sched
