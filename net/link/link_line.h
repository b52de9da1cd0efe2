// SPDX-License-Identifier: Apache-2.0
// The line of one direction of a link in virtual time: when a packet that enters now will arrive,
// or that it never will. A packet waits in the queue until those before it have left, takes its
// bytes' time on the line, may be lost, and then travels for the delay. Pure: no clock, no socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/rng.h"
#include "net/link/link_setting.h"

namespace weft::net {

class LinkLine {
 public:
  enum class Fate { kCarried, kQueueFull, kLost };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // A valid setting. Lines with the same seed and stream lose the same packets.
  LinkLine(const LinkSetting& setting, uint64_t seed, uint64_t stream);

  // A packet of that many bytes at that time, which never goes back. A line that is idle takes any
  // packet, however small its queue.
  Fate Enter(int64_t now_ns, int64_t bytes);

  // Of the packets that were carried and have not been taken, the first arrives then, or never.
  int64_t next_due_ns() const { return count_ == 0 ? kNever : At(0).due_ns; }
  // Takes the first away.
  void Leave();

  // From now on the line is like that: what waits leaves at the new rate and travels with the new
  // delay; what has left arrives when it would have. Nothing overtakes.
  void Change(int64_t now_ns, const LinkSetting& setting);

  // Bytes that have entered and not yet left the line.
  int64_t BacklogBytes(int64_t now_ns) const;

 private:
  struct Carried {
    int64_t departs_ns;  // its last bit has left the line
    int64_t due_ns;
  };

  const Carried& At(size_t index) const { return ring_[(first_ + index) & (ring_.size() - 1)]; }
  Carried& At(size_t index) { return ring_[(first_ + index) & (ring_.size() - 1)]; }
  void Push(const Carried& carried);
  int64_t DueAfter(int64_t departs_ns);

  LinkSetting setting_;  // with a queue
  Rng rng_;
  int64_t free_ns_ = 0;        // when all that entered will have left,
  int64_t free_rest_ = 0;      // and this / rate_bps nanoseconds later
  int64_t last_due_ns_ = 0;    // of the packets that were carried
  std::vector<Carried> ring_;  // a power of two; doubled when full
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace weft::net
