// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/job_trace.h"

#include <algorithm>
#include <array>
#include <vector>

#include "apps/profile/trace_file.h"

namespace weft::apps {
namespace {

using sched::Nanos;
using sched::RoundTrace;
using sched::Span;

// What was predicted of the round, from its begin on.
std::vector<Span> Predicted(const RoundTrace& round, Nanos until_ns) {
  std::vector<Span> spans;
  if (!round.expected || round.expected->iteration_ns == 0) return spans;
  for (Span span : sched::PredictRound(round.expected->profile, round.expected->plan)) {
    span.round += static_cast<int>(round.round);
    span.begin_ns += round.begin_ns;
    span.end_ns = std::min(span.end_ns + round.begin_ns, until_ns);
    if (span.begin_ns < span.end_ns) spans.push_back(span);
  }
  return spans;
}

}  // namespace

Status WriteJobTrace(const std::string& path, const std::string& name,
                     const std::deque<RoundTrace>& rounds, std::span<const sched::UnitCost> units) {
  std::vector<Span> went;
  // A prediction can be longer than its round was, and spans of a lane must not overlap: neighbours
  // have lanes of their own, until the second next begins.
  std::array<std::vector<Span>, 2> predicted;
  for (size_t i = 0; i < rounds.size(); ++i) {
    went.insert(went.end(), rounds[i].spans.begin(), rounds[i].spans.end());
    const Nanos until_ns = i + 2 < rounds.size() ? rounds[i + 2].begin_ns : INT64_MAX;
    const std::vector<Span> spans = Predicted(rounds[i], until_ns);
    std::vector<Span>& lanes = predicted[static_cast<size_t>(rounds[i].round % 2)];
    lanes.insert(lanes.end(), spans.begin(), spans.end());
  }
  return WriteTrace(path, {{name + " as it went", went, units},
                           {name + " as predicted, even rounds", predicted[0], units},
                           {name + " as predicted, odd rounds", predicted[1], units}});
}

}  // namespace weft::apps
