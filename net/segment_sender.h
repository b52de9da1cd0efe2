// SPDX-License-Identifier: Apache-2.0
// Sends segments to one peer until it has acknowledged them: the most urgent first, no more bytes
// on the way than keep it busy, again if no answer comes. It knows what to send, not how: its owner
// asks for the next segment, encodes it and hands it to the transport.
//
// How long an answer takes depends on what waits ahead, so a segment's patience begins only when
// nothing that was sent before it is answered any more. When it ends, one segment goes again, and
// the next when that shows that there is somebody: a way that only stands still for a while is not
// filled with copies.
// Thread: the owner's.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "net/path_pace.h"
#include "net/wire_layout.h"

namespace weft::net {

struct OutgoingSegment {
  int64_t round = 0;
  FloatRange range = {};  // of the whole layout
  // Given by the sender.
  uint64_t sequence = 0;
  bool follows = false;  // it was waiting already when the one before it was sent
  int64_t sent_ns = 0;   // the last time
};

// What senders to several peers have in common if their segments go by one connection.
struct SharedWay {
  PathPace pace = {};
  int64_t sends = 0;         // segments, each once
  int64_t opened_bytes = 0;  // beyond the first few segments
};

class SegmentSender {
 public:
  // Of all that is to go, this part may always be on the way: it costs urgent segments little time
  // as against the whole, and keeps both directions busy although each makes the other's answers
  // wait. Both ends use the same, so that neither crowds out the other.
  static int64_t LeastCredit(int64_t model_bytes) { return model_bytes / 64; }

  struct Setting {
    int64_t window_bytes = 0;   // on the way at most, however fast it is
    int64_t segment_bytes = 0;  // larger ranges are cut
    int64_t least_retry_ns = 500'000'000;
    int64_t least_credit_bytes = 0;  // may be on the way whatever the way itself seems to need
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

  // Senders that share a way must hear of arrivals by one clock.
  explicit SegmentSender(const Setting& setting,
                         std::shared_ptr<SharedWay> way = std::make_shared<SharedWay>())
      : setting_(setting), way_(std::move(way)) {}

  // The connection may allow less than the job does. Holds for what is queued from now on, and
  // from the next SendAllAgain on for everything.
  void LimitSegments(int64_t segment_bytes);

  // Earlier rounds go first, then smaller `turn`s, then by place.
  void Queue(const OutgoingSegment& segment, int64_t turn);

  // What to send now, if anything may be. `beside_bytes` of others are on the same way.
  std::optional<OutgoingSegment> Next(int64_t now_ns, int64_t beside_bytes = 0);

  // Of what was sent, what is due to go again, if anything is; Next looks for it, too.
  std::optional<OutgoingSegment> Again(int64_t now_ns);

  // Of what waits, how urgent the first is: the lesser, the more. Nullopt: nothing waits.
  struct Urgency {
    int64_t round = 0;
    int64_t turn = 0;
    int64_t place = 0;
    auto operator<=>(const Urgency&) const = default;
  };
  std::optional<Urgency> urgency() const;

  // The peer has it, since `arrived_ns` by a clock of its own: what it was, or nothing if nothing
  // with this sequence is waiting.
  std::optional<OutgoingSegment> Acknowledge(uint64_t sequence, int64_t arrived_ns, int64_t now_ns);
  // The peer will never take it. False if nothing with this sequence is waiting.
  bool Refused(uint64_t sequence);

  // Forgets segments of rounds before `round`, sent or not.
  void ForgetBefore(int64_t round);
  void ForgetAll();
  // After a new connection: whatever is not acknowledged may be lost.
  void SendAllAgain();

  bool idle() const { return waiting_.empty() && sent_.empty(); }
  int64_t bytes_on_the_way() const { return on_the_way_; }
  // It goes on asking, and no answer came that was surely to what went last.
  bool stalled() const { return turns_ > 0; }
  // From then on an answer is so late that who shares the way need not wait for it; INT64_MAX:
  // nothing is on the way.
  int64_t overdue_ns() const;
  // How many there may be at present: before the pace is known a few segments, then more as long
  // as answers do not come later for it.
  int64_t credit_bytes() const;
  int64_t round_trip_ns() const { return way_->pace.RoundTripNs(); }
  // When Next may have something that it has not now; INT64_MAX if that does not depend on time.
  int64_t next_retry_ns() const;
  const Ledger& ledger() const { return ledger_; }

 private:
  struct Waiting {
    int64_t turn = 0;
    OutgoingSegment segment = {};
    bool was_sent = false;
    int64_t sends_before = 0;  // when it was queued

    bool operator<(const Waiting& other) const;
  };
  struct Sent {
    Waiting what;
    int64_t first_ns = 0;
    int64_t since_ns = 0;    // it was sent, or something answered that was sent before it
    bool overtaken = false;  // something was answered that was sent after it
    bool alone = false;      // nothing else was on the way at first
    int tries = 1;

    int64_t at_ns() const { return what.segment.sent_ns; }
    // The answer to one that was sent twice may be to either.
    bool once() const { return tries == 1 && !what.was_sent; }
  };

  static int64_t Bytes(const OutgoingSegment& segment) {
    return segment.range.size() * static_cast<int64_t>(sizeof(float));
  }
  int64_t DueNs(const Sent& sent) const;
  int64_t PatienceNs(int tries) const;
  void Answered(const Sent& sent, int64_t now_ns);
  void BeginAnew();
  std::map<uint64_t, Sent>::iterator Drop(std::map<uint64_t, Sent>::iterator at);

  const Setting setting_;
  const std::shared_ptr<SharedWay> way_;
  int64_t segment_limit_ = INT64_MAX;
  std::set<Waiting> waiting_;
  std::map<uint64_t, Sent> sent_;  // by sequence
  int64_t on_the_way_ = 0;
  uint64_t last_sequence_ = 0;
  int64_t usual_answer_ns_ = 0;  // smoothed; 0 before the first
  int64_t least_answer_ns_ = INT64_MAX;
  int turns_ = 0;  // times that one went again, since it was known to what an answer is
  int64_t next_turn_ns_ = INT64_MIN;  // not before that does another, unless an answer comes
  Ledger ledger_;
};

}  // namespace weft::net
