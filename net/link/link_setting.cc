// SPDX-License-Identifier: Apache-2.0
#include "net/link/link_setting.h"

#include <algorithm>
#include <string>

namespace weft::net {

Status Validate(const LinkSetting& setting) {
  if (setting.rate_bps != 0 &&
      (setting.rate_bps < kLeastLinkRateBps || setting.rate_bps > kMostLinkRateBps)) {
    return Status::InvalidInput("a link's rate is 0, for no limit, or " +
                                std::to_string(kLeastLinkRateBps) + " to " +
                                std::to_string(kMostLinkRateBps) + " bits a second");
  }
  for (const int64_t ns : {setting.delay_ns, setting.jitter_ns}) {
    if (ns < 0 || ns > kMostLinkDelayNs) {
      return Status::InvalidInput("a link's delay and jitter are 0 to 60 seconds each");
    }
  }
  if (!(setting.loss >= 0 && setting.loss <= 1)) {
    return Status::InvalidInput("a link's loss is a share from 0 to 1");
  }
  if (setting.queue_bytes < 0 || setting.queue_bytes > kMostLinkQueueBytes) {
    return Status::InvalidInput("a link's queue is " + std::to_string(kMostLinkQueueBytes) +
                                " bytes at most");
  }
  return Status::Ok();
}

// With less, two directions that are both busy keep each other from filling the line.
constexpr double kRouterQueueBytes = 256 << 10;

int64_t DefaultQueueBytes(const LinkSetting& setting) {
  const double seconds = std::max(2e-9 * static_cast<double>(setting.delay_ns), 2e-3);
  const double round_trip = static_cast<double>(setting.rate_bps) / 8 * seconds;
  return static_cast<int64_t>(
      std::min(round_trip + kRouterQueueBytes, static_cast<double>(kMostLinkQueueBytes)));
}

}  // namespace weft::net
