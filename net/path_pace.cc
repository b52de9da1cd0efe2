// SPDX-License-Identifier: Apache-2.0
#include "net/path_pace.h"

#include <algorithm>
#include <utility>

namespace weft::net {
namespace {

// Answers come late when a processor is busy; so much time's worth is on the way beyond what the
// way itself needs.
constexpr double kSlackNs = 15e6;
// Segments are handed on whole: one is on the line, one at the broker, one with the receiver; and
// the answer waits behind as many that come the other way. With fewer, each direction slows the
// other down, and what is measured then asks for fewer still.
constexpr int64_t kSegmentsOnTop = 6;

}  // namespace

void PathPace::Answered(const Answer& answer) {
  if (answer.alone) {
    trips_[trip_count_++ % kTrips] = {answer.bytes, answer.now_ns - answer.sent_ns};
  }
  const int64_t before = std::exchange(last_answer_ns_, answer.now_ns);
  if (answer.follows && before >= 0) {
    gaps_[gap_count_++ % kGaps] = {answer.bytes, std::max<int64_t>(answer.now_ns - before, 0)};
  }
  if (gap_count_ < kGaps || trip_count_ == 0) return;

  double bytes = 0;
  double ns = 0;
  int64_t largest = 0;
  for (const Timed& gap : gaps_) {
    bytes += static_cast<double>(gap.bytes);
    ns += static_cast<double>(gap.ns);
    largest = std::max(largest, gap.bytes);
  }
  const double bytes_per_ns = bytes / std::max(ns, 1.0);
  double shortest = 1e18;
  for (size_t i = 0; i < std::min(trip_count_, kTrips); ++i) {
    const double own = static_cast<double>(trips_[i].bytes) / bytes_per_ns;
    shortest = std::min(shortest, static_cast<double>(trips_[i].ns) - own);
  }
  round_trip_ns_ = static_cast<int64_t>(std::max(shortest, 0.0));
  const double credit = bytes_per_ns * (static_cast<double>(round_trip_ns_) + kSlackNs);
  credit_bytes_ = static_cast<int64_t>(std::min(credit, 1e15)) + kSegmentsOnTop * largest;
}

}  // namespace weft::net
