// SPDX-License-Identifier: Apache-2.0
// Learns from answers how fast a path carries and how long the way there and back is, and says how
// many bytes to keep on it: enough to keep it busy, and no more, since what is on the way cannot be
// overtaken by something more urgent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::net {

class PathPace {
 public:
  struct Answer {
    int64_t bytes = 0;
    bool alone = false;    // nothing else was on the way when it was sent
    bool follows = false;  // it was waiting when the one before it was sent
    int64_t sent_ns = 0;
    int64_t now_ns = 0;
  };
  void Answered(const Answer& answer);
  // The next answer comes from a way that was not busy, or was broken.
  void Interrupted() { last_answer_ns_ = -1; }

  // INT64_MAX before enough answers came.
  int64_t CreditBytes() const { return credit_bytes_; }
  // There and back, without waiting behind others; 0 before enough answers came.
  int64_t RoundTripNs() const { return round_trip_ns_; }

 private:
  static constexpr size_t kGaps = 32;
  static constexpr size_t kTrips = 16;

  struct Timed {
    int64_t bytes = 0;
    int64_t ns = 0;
  };

  // On a busy way an answer takes as long as all that is ahead of it: how fast it carries shows
  // between answers, and how long it is only when it was idle before.
  std::array<Timed, kGaps> gaps_ = {};
  std::array<Timed, kTrips> trips_ = {};
  size_t gap_count_ = 0;  // ever
  size_t trip_count_ = 0;
  int64_t last_answer_ns_ = -1;
  int64_t credit_bytes_ = INT64_MAX;
  int64_t round_trip_ns_ = 0;
};

}  // namespace weft::net
