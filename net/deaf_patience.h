// SPDX-License-Identifier: Apache-2.0
// How long to go on with a connection that stands and by which nobody is heard. The others may be
// away; or it carries nothing any more, and only another one will: brokers were seen to keep a
// client's messages to themselves although they answered its pings. So a new one is tried after a
// while, and then less and less often.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/clock.h"

namespace weft::net {

class DeafPatience {
 public:
  static constexpr int64_t kFirstNs = 20 * kNsPerSecond;
  static constexpr int64_t kMostNs = 600 * kNsPerSecond;

  void Connected(int64_t now_ns) { since_ns_ = now_ns; }
  // Somebody whom we want to hear.
  void Heard(int64_t now_ns) {
    since_ns_ = now_ns;
    patience_ns_ = kFirstNs;
  }
  // Whether it is time for another connection; then the next has twice as long.
  bool Exhausted(int64_t now_ns) {
    if (now_ns < until_ns()) return false;
    waited_ns_ = patience_ns_;
    patience_ns_ = std::min(2 * patience_ns_, kMostNs);
    since_ns_ = now_ns;
    return true;
  }
  int64_t until_ns() const { return since_ns_ + patience_ns_; }
  // What was waited the last time: "20 s".
  std::string Text() const { return std::to_string(waited_ns_ / kNsPerSecond) + " s"; }

 private:
  int64_t since_ns_ = 0;
  int64_t patience_ns_ = kFirstNs;
  int64_t waited_ns_ = 0;
};

}  // namespace weft::net
