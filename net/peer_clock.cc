// SPDX-License-Identifier: Apache-2.0
#include "net/peer_clock.h"

#include <algorithm>
#include <utility>

namespace weft::net {
namespace {

constexpr double kClocksPart = 1e-4;  // clocks go apart by less than this
constexpr int64_t kPeriodNs = 30'000'000'000;

}  // namespace

int64_t PeerClock::OurTime(int64_t theirs_ns, int64_t now_ns) {
  const double ahead = static_cast<double>(theirs_ns) - static_cast<double>(now_ns);
  const double drift = kClocksPart * static_cast<double>(now_ns - std::exchange(read_ns_, now_ns));
  if (!ahead_ns_ || now_ns - since_ns_ >= kPeriodNs) {
    // What was told long ago tells nothing: that clock may have stood still since.
    const bool recent = now_ns - since_ns_ < 2 * kPeriodNs;
    ahead_before_ns_ = recent ? ahead_ns_ : std::nullopt;
    ahead_ns_ = ahead;
    since_ns_ = now_ns;
  } else {
    ahead_ns_ = std::max(*ahead_ns_ - drift, ahead);
  }
  if (ahead_before_ns_) *ahead_before_ns_ -= drift;
  const double most = std::max(*ahead_ns_, ahead_before_ns_.value_or(*ahead_ns_));
  return now_ns - static_cast<int64_t>(std::min(most - ahead, 1e15));
}

}  // namespace weft::net
