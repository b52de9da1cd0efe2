// SPDX-License-Identifier: Apache-2.0
// What an emulated link is like in one direction, and what it counts there.
#pragma once

#include <cstdint>
#include <optional>

#include "core/status.h"

namespace weft::net {

// Seen from the edge device.
enum class LinkDirection { kUp, kDown };

struct LinkSetting {
  int64_t rate_bps = 0;   // bits a second of whole IP packets; 0: no limit
  int64_t delay_ns = 0;   // one way
  int64_t jitter_ns = 0;  // up to this much more for each packet, evenly; they stay in order
  double loss = 0;        // the share of packets that are lost, one by one, behind the line
  // Bytes that may wait for the line; what comes then is dropped. 0: DefaultQueueBytes.
  int64_t queue_bytes = 0;
};

inline constexpr int64_t kLeastLinkRateBps = 1'000;
inline constexpr int64_t kMostLinkRateBps = 100'000'000'000;
inline constexpr int64_t kMostLinkDelayNs = 60'000'000'000;
inline constexpr int64_t kMostLinkQueueBytes = int64_t{256} << 20;

// InvalidInput if a number is out of range.
Status Validate(const LinkSetting& setting);

// Where a setting names none: what is on the way during a round trip (twice the delay, at least
// 2 ms, as no receiver answers at once), so that one TCP connection can halve its window and still
// keep the line busy; and 256 KB more, as with both directions busy packets come in bursts.
int64_t DefaultQueueBytes(const LinkSetting& setting);

// Since the link was made.
struct LinkCounters {
  int64_t packets = 0;  // delivered, as the wire would see them
  int64_t bytes = 0;
  int64_t queue_dropped = 0;  // packets that found the queue full
  int64_t lost = 0;           // packets that the loss took
  // Packets that the kernel dropped before the emulator saw them, since it was late; nullopt: it
  // does not tell.
  std::optional<int64_t> unread = 0;
  // After the time at which a packet was due: 0 for one that was in time. What makes a measurement
  // worthless is a large mean, or many that were later than kLateNs.
  int64_t mean_late_ns = 0;
  int64_t max_late_ns = 0;
  int64_t late = 0;  // packets later than kLateNs
};

inline constexpr int64_t kLateNs = 1'000'000;

}  // namespace weft::net
