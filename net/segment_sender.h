// SPDX-License-Identifier: Apache-2.0
// Sends segments to one peer until it has acknowledged them: at most a window of bytes on the way,
// the most urgent first, again after a while if no answer comes. It knows what to send, not how:
// its owner asks for the next segment, encodes it and hands it to the transport.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "net/wire_layout.h"

namespace weft::net {

// A part of units first..last, in floats of the whole layout.
struct OutgoingSegment {
  int64_t round = 0;
  int first_unit = 0;
  int last_unit = 0;
  FloatRange range = {};
  uint64_t sequence = 0;  // given by the sender
};

class SegmentSender {
 public:
  struct Setting {
    int64_t window_bytes = 0;
    int64_t segment_bytes = 0;  // larger ranges are cut
    int64_t least_retry_ns = 500'000'000;
  };
  // What became of the segments so far; every one that was sent is in just one of the last three
  // in the end.
  struct Ledger {
    int64_t queued = 0;
    int64_t sent_again = 0;
    int64_t acknowledged = 0;
    int64_t refused = 0;
    int64_t expired = 0;  // overtaken by events before an answer came
  };

  explicit SegmentSender(const Setting& setting) : setting_(setting) {}

  // The connection may allow less than the job does. Holds for what is queued from now on, and
  // from the next SendAllAgain on for everything.
  void LimitSegments(int64_t segment_bytes);

  // Smaller priorities go first; equal ones by place.
  void Queue(const OutgoingSegment& segment, int64_t priority);

  // What to send now, if anything may be.
  std::optional<OutgoingSegment> Next(int64_t now_ns);

  // The peer has it, or will never take it. False if nothing with this sequence is waiting.
  bool Acknowledge(uint64_t sequence, int64_t now_ns);
  bool Refused(uint64_t sequence);

  // Forgets segments of rounds before `round`, sent or not.
  void ForgetBefore(int64_t round);
  void ForgetAll();
  // After a new connection: whatever is not acknowledged may be lost.
  void SendAllAgain();

  bool idle() const { return waiting_.empty() && sent_.empty(); }
  int64_t bytes_on_the_way() const { return on_the_way_; }
  // When Next may have something that it has not now; INT64_MAX if that does not depend on time.
  int64_t next_retry_ns() const;
  const Ledger& ledger() const { return ledger_; }

 private:
  struct Waiting {
    int64_t priority = 0;
    OutgoingSegment segment = {};
    bool was_sent = false;

    bool operator<(const Waiting& other) const;
  };
  struct Sent {
    Waiting what;
    int64_t at_ns = 0;
    int64_t retry_ns = 0;  // when it is sent again
    int tries = 1;
  };

  static int64_t Bytes(const OutgoingSegment& segment) {
    return segment.range.size() * static_cast<int64_t>(sizeof(float));
  }
  int64_t RetryAfter(int tries) const;
  std::map<uint64_t, Sent>::iterator Drop(std::map<uint64_t, Sent>::iterator at);

  const Setting setting_;
  int64_t segment_limit_ = INT64_MAX;
  std::set<Waiting> waiting_;
  std::map<uint64_t, Sent> sent_;  // by sequence
  int64_t on_the_way_ = 0;
  uint64_t last_sequence_ = 0;
  int64_t usual_answer_ns_ = 0;  // smoothed; 0 before the first
  Ledger ledger_;
};

}  // namespace weft::net
