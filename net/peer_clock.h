// SPDX-License-Identifier: Apache-2.0
// Reads the clock of a peer of which nothing is known but when it says that it had what it now
// answers: the quickest answers of the last minute tell how far that clock is ahead of ours.
#pragma once

#include <cstdint>
#include <optional>

namespace weft::net {

class PeerClock {
 public:
  // When it was `theirs_ns` there, by our clock, but for what the quickest answer took; never later
  // than `now_ns`, which is when we hear of it.
  int64_t OurTime(int64_t theirs_ns, int64_t now_ns);
  // Another peer, or another start of it.
  void Reset() { *this = {}; }

 private:
  // Ahead of ours, less what its answers take: the most of this half minute and of the one before.
  std::optional<double> ahead_ns_ = {};
  std::optional<double> ahead_before_ns_ = {};
  int64_t since_ns_ = 0;
  int64_t read_ns_ = 0;
};

}  // namespace weft::net
