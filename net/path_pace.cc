// SPDX-License-Identifier: Apache-2.0
#include "net/path_pace.h"

#include <algorithm>
#include <utility>

namespace weft::net {
namespace {

// What is to wait on the way, so that it is never idle: answers come late when a processor is busy,
// and segments are handed on whole: while one is on the line, others are with the broker, there and
// back.
constexpr double kSlackNs = 15e6;
constexpr int64_t kSegmentsOnTop = 2;
// Two clocks drift apart by less than this.
constexpr double kDrift = 1e-4;
// Answers of several receivers overtake each other by less; farther back it is another clock.
constexpr double kOvertakenNs = 10e9;

}  // namespace

void PathPace::Moved() {
  Interrupted();
  trip_count_ = 0;
}

void PathPace::Answered(const Answer& answer) {
  const auto arrived_ns = static_cast<double>(answer.arrived_ns);
  const double there_ns = arrived_ns - static_cast<double>(answer.sent_ns);
  if (answer.alone) {
    trips_[trip_count_++ % kTrips] = {.bytes = answer.bytes,
                                      .there_ns = there_ns,
                                      .total_ns = answer.now_ns - answer.sent_ns,
                                      .now_ns = answer.now_ns};
  }
  const std::optional<double> before = last_arrival_ns_;
  const bool overtaken = before && arrived_ns < *before && *before - arrived_ns < kOvertakenNs;
  if (!overtaken) last_arrival_ns_ = arrived_ns;
  if (!answer.follows || !before || trip_count_ == 0) return;
  const double ns = std::max(arrived_ns - *before, 0.0);
  block_bytes_ += static_cast<double>(answer.bytes);
  block_ns_ += ns;
  Gap& gap = gaps_[gap_count_++ % kGaps];
  if (gap_count_ % kBlock == 0) {
    rates_[gap_count_ / kBlock % kRates] = block_bytes_ / std::max(block_ns_, 1.0);
    block_bytes_ = block_ns_ = 0;
  }
  if (gap_count_ < kBlock) return;

  // What a way takes on which nothing waits.
  const double bytes_per_ns = BytesPerNs();
  double there = 1e18;
  double total = 1e18;
  for (size_t i = 0; i < std::min(trip_count_, kTrips); ++i) {
    const Trip& trip = trips_[i];
    const double own = static_cast<double>(trip.bytes) / bytes_per_ns;
    const double drift = kDrift * static_cast<double>(answer.now_ns - trip.now_ns);
    there = std::min(there, trip.there_ns - own + drift);
    total = std::min(total, static_cast<double>(trip.total_ns) - own);
  }
  const double own = static_cast<double>(answer.bytes) / bytes_per_ns;
  const double waited = std::max(there_ns - there - own, 0.0);
  gap = {.bytes = answer.bytes,
         .rest_ns = static_cast<double>(answer.now_ns - answer.sent_ns) - waited};
  if (gap_count_ < kBlock + kGaps) return;

  double mean = 0;
  double most = 0;
  int64_t largest = 0;
  for (const Gap& each : gaps_) {
    mean += each.rest_ns / static_cast<double>(kGaps);
    most = std::max(most, each.rest_ns);
    largest = std::max(largest, each.bytes);
    // The answer to one that was alone may have waited for what came the other way.
    total = std::min(total, each.rest_ns - static_cast<double>(each.bytes) / bytes_per_ns);
  }
  round_trip_ns_ = static_cast<int64_t>(std::max(total, 0.0));
  // Half way to the slowest answer. By all of it, each direction would make way for the other's
  // unrest, and neither would ever calm down.
  const double rest = std::max((mean + most) / 2, 0.0);
  const double credit = bytes_per_ns * (rest + kSlackNs);
  credit_bytes_ = static_cast<int64_t>(std::min(credit, 1e15)) + kSegmentsOnTop * largest;
}

// The fastest block but one: a way that was idle in between looks slow, and one block may look fast
// because what had been held up was noticed at once.
double PathPace::BytesPerNs() const {
  double first = 0;
  double second = 0;
  for (const double rate : rates_) {
    if (rate > first) {
      second = std::exchange(first, rate);
    } else {
      second = std::max(second, rate);
    }
  }
  return second > 0 ? second : first;
}

}  // namespace weft::net
