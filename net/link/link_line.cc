// SPDX-License-Identifier: Apache-2.0
#include "net/link/link_line.h"

#include <algorithm>
#include <cassert>

namespace weft::net {

namespace {

constexpr int64_t kBitNsPerByte = 8'000'000'000;  // bits of a byte x nanoseconds of a second

LinkSetting WithQueue(LinkSetting setting) {
  assert(Validate(setting).ok());
  if (setting.queue_bytes == 0) setting.queue_bytes = DefaultQueueBytes(setting);
  return setting;
}

}  // namespace

LinkLine::LinkLine(const LinkSetting& setting, uint64_t seed, uint64_t stream)
    : setting_(WithQueue(setting)), rng_(seed, stream), ring_(256) {}

// At most kMostLinkQueueBytes and a packet wait, so the product stays below 2^62.
int64_t LinkLine::BacklogBytes(int64_t now_ns) const {
  return free_ns_ <= now_ns ? 0 : (free_ns_ - now_ns) * setting_.rate_bps / kBitNsPerByte;
}

int64_t LinkLine::DueAfter(int64_t departs_ns) {
  const int64_t jitter_ns = setting_.jitter_ns > 0 ? rng_.Between(0, setting_.jitter_ns) : 0;
  last_due_ns_ = std::max(last_due_ns_, departs_ns + setting_.delay_ns + jitter_ns);
  return last_due_ns_;
}

LinkLine::Fate LinkLine::Enter(int64_t now_ns, int64_t bytes) {
  int64_t departs_ns = now_ns;
  if (setting_.rate_bps > 0) {
    if (free_ns_ <= now_ns) {
      free_ns_ = now_ns;
      free_rest_ = 0;
    } else if (BacklogBytes(now_ns) + bytes > setting_.queue_bytes) {
      return Fate::kQueueFull;
    }
    // The rest is carried on, so that no rate is off by its rounding.
    const int64_t bit_ns = bytes * kBitNsPerByte + free_rest_;
    free_ns_ += bit_ns / setting_.rate_bps;
    free_rest_ = bit_ns % setting_.rate_bps;
    departs_ns = free_ns_;
  }
  if (setting_.loss > 0 && rng_.Fraction() < setting_.loss) return Fate::kLost;
  Push({departs_ns, DueAfter(departs_ns)});
  return Fate::kCarried;
}

void LinkLine::Push(const Carried& carried) {
  if (count_ == ring_.size()) {
    std::vector<Carried> larger(2 * ring_.size());
    for (size_t i = 0; i < count_; ++i) larger[i] = At(i);
    ring_ = std::move(larger);
    first_ = 0;
  }
  At(count_++) = carried;
}

void LinkLine::Leave() {
  assert(count_ > 0);
  first_ = (first_ + 1) & (ring_.size() - 1);
  --count_;
}

void LinkLine::Change(int64_t now_ns, const LinkSetting& setting) {
  const int64_t old_bps = setting_.rate_bps;
  setting_ = WithQueue(setting);
  // The bits before a departure stay the same, so its time scales with the rates.
  const auto departure = [&](int64_t at_ns) {
    if (at_ns <= now_ns) return at_ns;
    return setting_.rate_bps == 0 ? now_ns
                                  : now_ns + (at_ns - now_ns) * old_bps / setting_.rate_bps;
  };
  free_ns_ = departure(free_ns_);
  free_rest_ = 0;
  last_due_ns_ = 0;
  for (size_t i = 0; i < count_; ++i) {
    Carried& carried = At(i);
    if (carried.departs_ns <= now_ns) {
      last_due_ns_ = carried.due_ns;
    } else {
      carried.departs_ns = departure(carried.departs_ns);
      carried.due_ns = DueAfter(carried.departs_ns);
    }
  }
}

}  // namespace weft::net
