// SPDX-License-Identifier: Apache-2.0
// Learns from answers how fast a path carries and how long its ways are, and says how many bytes
// to keep on it: enough to keep it busy, and no more, since what is on the way cannot be overtaken
// by something more urgent. Answers may be held up by what goes the other way, so what waits on the
// way there is told from that by when the receiver had it, by its own clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::net {

class PathPace {
 public:
  struct Answer {
    int64_t bytes = 0;
    bool alone = false;    // nothing else was on the way when it was sent
    bool follows = false;  // it was waiting when the one before it was sent
    int64_t sent_ns = 0;
    int64_t arrived_ns = 0;  // by the receiver's clock, or whatever it says
    int64_t now_ns = 0;
  };
  void Answered(const Answer& answer);
  // The next answer comes from a way that was not busy.
  void Interrupted() { last_arrival_ns_.reset(); }
  // From now on answers come by another way, or from another receiver.
  void Moved();

  // INT64_MAX before enough answers came.
  int64_t CreditBytes() const { return credit_bytes_; }
  // There and back, without waiting behind others; 0 before enough answers came.
  int64_t RoundTripNs() const { return round_trip_ns_; }

 private:
  // What the way carries when it is never idle.
  double BytesPerNs() const;

  static constexpr size_t kGaps = 32;
  static constexpr size_t kBlock = 16;  // gaps
  static constexpr size_t kRates = 8;
  static constexpr size_t kTrips = 4;

  struct Gap {
    int64_t bytes = 0;
    double rest_ns = 0;  // of the round trip, without waiting on the way there
  };
  struct Trip {
    int64_t bytes = 0;
    double there_ns = 0;  // between two clocks: only differences mean something
    int64_t total_ns = 0;
    int64_t now_ns = 0;
  };

  // On a busy way an answer takes as long as all that is ahead of it: how fast it carries shows
  // between arrivals, and how long it is only when it was idle before.
  std::array<Gap, kGaps> gaps_ = {};
  std::array<double, kRates> rates_ = {};  // bytes/ns, of the last blocks
  std::array<Trip, kTrips> trips_ = {};
  size_t gap_count_ = 0;   // ever
  size_t trip_count_ = 0;  // since it moved
  double block_bytes_ = 0;
  double block_ns_ = 0;
  std::optional<double> last_arrival_ns_ = {};
  int64_t credit_bytes_ = INT64_MAX;
  int64_t round_trip_ns_ = 0;
};

}  // namespace weft::net
