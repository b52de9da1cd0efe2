// SPDX-License-Identifier: Apache-2.0
// A link's changes over time, as people write them down:
//
//   # seconds after the start, which way, and what becomes different
//   at 10   both mbps=20 rtt-ms=60
//   at 12.5 up   loss=1 jitter-ms=5 queue-kb=32
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "net/link/link_setting.h"

namespace weft::net {

// What one line of a script says. What it does not name stays.
struct LinkChange {
  int64_t at_ns = 0;
  bool up = false;
  bool down = false;
  std::optional<int64_t> rate_bps = {};
  std::optional<int64_t> delay_ns = {};  // half of the round trip that was written
  std::optional<int64_t> jitter_ns = {};
  std::optional<double> loss = {};
  std::optional<int64_t> queue_bytes = {};
};

// In the order of time. InvalidInput names the line, and what is wrong with it.
Result<std::vector<LinkChange>> ParseLinkScript(std::string_view text);

// `setting` after the change.
LinkSetting Changed(LinkSetting setting, const LinkChange& change);

// What people write in numbers of these units: InvalidInput says which numbers there may be.
Result<int64_t> RateOfMbps(double mbps);  // 0: no limit
Result<int64_t> DelayOfMs(double ms);     // 0 to 60,000
Result<double> LossOfPercent(double percent);
Result<int64_t> BytesOfKb(double kb);  // of 1024 bytes; 0: the default

}  // namespace weft::net
