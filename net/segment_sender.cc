// SPDX-License-Identifier: Apache-2.0
#include "net/segment_sender.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace weft::net {
namespace {

constexpr int64_t kFirstRetryNs = 3'000'000'000;  // before any answer was timed
constexpr int64_t kMostRetryNs = 30'000'000'000;
constexpr int64_t kFirstSegments = 4;  // on the way before anything is known about it
// An answer that takes twice as long as the quickest and so much more has waited behind others.
constexpr int64_t kUnrestNs = 50'000'000;
constexpr int64_t kLongWayNs = 1'000'000'000;  // by satellite; what takes longer has waited

}  // namespace

bool SegmentSender::Waiting::operator<(const Waiting& other) const {
  return std::tie(segment.round, turn, segment.range.begin, segment.sequence) <
         std::tie(other.segment.round, other.turn, other.segment.range.begin,
                  other.segment.sequence);
}

void SegmentSender::LimitSegments(int64_t segment_bytes) {
  segment_limit_ = std::max<int64_t>(segment_bytes, sizeof(float));
}

void SegmentSender::Queue(const OutgoingSegment& segment, int64_t turn) {
  const int64_t most =
      std::min(setting_.segment_bytes, segment_limit_) / static_cast<int64_t>(sizeof(float));
  assert(most > 0);
  for (int64_t begin = segment.range.begin; begin < segment.range.end; begin += most) {
    Waiting part{.turn = turn, .segment = segment, .sends_before = way_->sends};
    part.segment.range = {begin, std::min(begin + most, segment.range.end)};
    part.segment.sequence = ++last_sequence_;
    waiting_.insert(part);
    ++ledger_.queued;
  }
}

std::optional<SegmentSender::Urgency> SegmentSender::urgency() const {
  if (waiting_.empty()) return std::nullopt;
  const Waiting& first = *waiting_.begin();
  return Urgency{first.segment.round, first.turn, first.segment.range.begin};
}

std::optional<OutgoingSegment> SegmentSender::Next(int64_t now_ns, int64_t beside_bytes) {
  if (std::optional<OutgoingSegment> again = Again(now_ns)) return again;
  if (waiting_.empty()) return std::nullopt;
  const Waiting& first = *waiting_.begin();
  // One segment may always go, however small the window is.
  const int64_t bytes = Bytes(first.segment);
  if (on_the_way_ > 0 && on_the_way_ + beside_bytes + bytes > credit_bytes()) return std::nullopt;
  on_the_way_ += bytes;
  if (first.was_sent) ++ledger_.sent_again;
  const auto [at, inserted] =
      sent_.emplace(first.segment.sequence, Sent{.what = first,
                                                 .first_ns = now_ns,
                                                 .since_ns = now_ns,
                                                 .alone = on_the_way_ + beside_bytes == bytes});
  assert(inserted);
  at->second.what.segment.follows = !first.was_sent && first.sends_before < way_->sends;
  at->second.what.segment.sent_ns = now_ns;
  ++way_->sends;
  waiting_.erase(waiting_.begin());
  return at->second.what.segment;
}

std::optional<OutgoingSegment> SegmentSender::Again(int64_t now_ns) {
  Sent* due = nullptr;  // the one that was longest on the way
  for (auto& [sequence, sent] : sent_) {
    if (DueNs(sent) <= now_ns && (due == nullptr || sent.at_ns() < due->at_ns())) due = &sent;
  }
  if (due == nullptr || now_ns < next_turn_ns_) return std::nullopt;
  next_turn_ns_ = now_ns + PatienceNs(++turns_ + 1);
  ++due->tries;
  due->since_ns = now_ns;
  due->overtaken = false;
  due->what.segment.follows = false;
  due->what.segment.sent_ns = now_ns;
  ++ledger_.sent_again;
  return due->what.segment;
}

std::optional<OutgoingSegment> SegmentSender::Acknowledge(uint64_t sequence, int64_t arrived_ns,
                                                          int64_t now_ns) {
  const auto at = sent_.find(sequence);
  if (at == sent_.end()) {
    // It was queued again after a lost connection, and now the answer came after all.
    const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
      return w.was_sent && w.segment.sequence == sequence;
    });
    if (waiting == waiting_.end()) return std::nullopt;
    const OutgoingSegment segment = waiting->segment;
    waiting_.erase(waiting);
    ++ledger_.acknowledged;
    return segment;
  }
  Answered(at->second, now_ns);
  if (at->second.once()) {
    way_->pace.Answered({.bytes = Bytes(at->second.what.segment),
                         .alone = at->second.alone,
                         .follows = at->second.what.segment.follows,
                         .sent_ns = at->second.at_ns(),
                         .arrived_ns = arrived_ns,
                         .now_ns = now_ns});
  } else {
    way_->pace.Interrupted();
  }
  const OutgoingSegment segment = at->second.what.segment;
  Drop(at);
  ++ledger_.acknowledged;
  return segment;
}

void SegmentSender::Answered(const Sent& answered, int64_t now_ns) {
  const int64_t took = now_ns - answered.at_ns();
  // To the last copy, if it came no sooner and no later than answers do.
  const bool to_last = answered.once() || (took >= least_answer_ns_ && took <= usual_answer_ns_);
  const int64_t sent_ns = to_last ? answered.at_ns() : answered.first_ns;
  // They come in the order in which they were sent: what was sent later may be on its way behind
  // it, and what was sent earlier is late.
  for (auto& [sequence, sent] : sent_) {
    if (sent_ns > sent.at_ns()) {
      sent.overtaken = true;
    } else if (!sent.overtaken) {
      sent.since_ns = now_ns;
    }
  }
  next_turn_ns_ = INT64_MIN;
  if (to_last) turns_ = 0;
  // A slow one is believed at once, a quick one by and by: where others send by the same way,
  // answers come in heaps. One to an earlier copy took even longer.
  if (took > usual_answer_ns_) {
    usual_answer_ns_ = took;
  } else if (answered.once()) {
    usual_answer_ns_ += (took - usual_answer_ns_) / 64;
  }
  least_answer_ns_ = std::min(least_answer_ns_, took);
  // If answers come later already, more would only wait on the way.
  if (answered.once() && !waiting_.empty() &&
      took <= std::min(2 * least_answer_ns_ + kUnrestNs, kLongWayNs)) {
    way_->opened_bytes =
        std::min(way_->opened_bytes + Bytes(answered.what.segment), setting_.window_bytes);
  }
}

void SegmentSender::BeginAnew() {
  turns_ = 0;
  next_turn_ns_ = INT64_MIN;
}

bool SegmentSender::Refused(uint64_t sequence) {
  const auto at = sent_.find(sequence);
  if (at == sent_.end()) return false;
  Drop(at);
  ++ledger_.refused;
  return true;
}

void SegmentSender::ForgetBefore(int64_t round) {
  for (auto at = sent_.begin(); at != sent_.end();) {
    if (at->second.what.segment.round < round) {
      ++ledger_.expired;
      at = Drop(at);
    } else {
      ++at;
    }
  }
  ledger_.expired += static_cast<int64_t>(
      std::erase_if(waiting_, [&](const Waiting& w) { return w.segment.round < round; }));
}

void SegmentSender::ForgetAll() {
  ForgetBefore(INT64_MAX);
  BeginAnew();
  way_->pace.Moved();
}

void SegmentSender::SendAllAgain() {
  for (auto& [sequence, sent] : sent_) {
    sent.what.was_sent = true;
    waiting_.insert(sent.what);
  }
  sent_.clear();
  on_the_way_ = 0;
  BeginAnew();
  way_->pace.Moved();
  // What this connection does not allow goes in smaller parts, which have sequences of their own.
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (Bytes(at->segment) <= std::min(setting_.segment_bytes, segment_limit_)) {
      ++at;
      continue;
    }
    const Waiting large = *at;
    at = waiting_.erase(at);
    ++ledger_.expired;
    Queue(large.segment, large.turn);
  }
}

int64_t SegmentSender::credit_bytes() const {
  const int64_t window = setting_.window_bytes;
  int64_t credit = way_->pace.CreditBytes();
  if (credit == INT64_MAX) {
    const int64_t first = kFirstSegments * std::min({setting_.segment_bytes, segment_limit_,
                                                     window / kFirstSegments});
    credit = first + std::min(way_->opened_bytes, window - first);
  }
  return std::min(window, std::max(credit, setting_.least_credit_bytes));
}

int64_t SegmentSender::next_retry_ns() const {
  int64_t next = INT64_MAX;
  for (const auto& [sequence, sent] : sent_) next = std::min(next, DueNs(sent));
  return std::max(next, next_turn_ns_);
}

int64_t SegmentSender::overdue_ns() const {
  const int64_t late = std::max(setting_.least_retry_ns, 2 * usual_answer_ns_);
  int64_t first = INT64_MAX;
  for (const auto& [sequence, sent] : sent_) first = std::min(first, sent.since_ns + late);
  return first;
}

int64_t SegmentSender::DueNs(const Sent& sent) const {
  return sent.since_ns + PatienceNs(std::max(sent.tries, turns_ + 1));
}

int64_t SegmentSender::PatienceNs(int tries) const {
  const int64_t usual = usual_answer_ns_ == 0
                            ? kFirstRetryNs
                            : std::max(setting_.least_retry_ns, 4 * usual_answer_ns_);
  return std::min(usual << std::min(tries - 1, 6), kMostRetryNs);
}

std::map<uint64_t, SegmentSender::Sent>::iterator SegmentSender::Drop(
    std::map<uint64_t, Sent>::iterator at) {
  on_the_way_ -= Bytes(at->second.what.segment);
  return sent_.erase(at);
}

}  // namespace weft::net
