// SPDX-License-Identifier: Apache-2.0
#include "net/segment_sender.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace weft::net {
namespace {

constexpr int64_t kFirstRetryNs = 3'000'000'000;  // before any answer was timed
constexpr int64_t kMostRetryNs = 30'000'000'000;

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
    Waiting part{.turn = turn, .segment = segment, .sends_before = sends_};
    part.segment.range = {begin, std::min(begin + most, segment.range.end)};
    part.segment.sequence = ++last_sequence_;
    waiting_.insert(part);
    ++ledger_.queued;
  }
}

std::optional<OutgoingSegment> SegmentSender::Next(int64_t now_ns) {
  for (auto& [sequence, sent] : sent_) {
    if (sent.retry_ns > now_ns) continue;
    ++sent.tries;
    sent.what.segment.follows = false;
    sent.what.segment.sent_ns = now_ns;
    sent.retry_ns = now_ns + RetryAfter(sent.tries);
    ++ledger_.sent_again;
    return sent.what.segment;
  }
  if (waiting_.empty()) return std::nullopt;
  const Waiting& first = *waiting_.begin();
  // One segment may always go, however small the window is.
  const int64_t bytes = Bytes(first.segment);
  if (on_the_way_ > 0 && on_the_way_ + bytes > credit_bytes()) return std::nullopt;
  on_the_way_ += bytes;
  if (first.was_sent) ++ledger_.sent_again;
  const auto [at, inserted] =
      sent_.emplace(first.segment.sequence, Sent{.what = first,
                                                 .alone = on_the_way_ == bytes,
                                                 .retry_ns = now_ns + RetryAfter(1),
                                                 .tries = first.was_sent ? 2 : 1});
  assert(inserted);
  at->second.what.segment.follows = !first.was_sent && first.sends_before < sends_;
  at->second.what.segment.sent_ns = now_ns;
  ++sends_;
  waiting_.erase(waiting_.begin());
  return at->second.what.segment;
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
  // The answer to one that was sent twice may be to either.
  if (at->second.tries == 1) {
    const int64_t took = now_ns - at->second.what.segment.sent_ns;
    usual_answer_ns_ =
        usual_answer_ns_ == 0 ? took : usual_answer_ns_ + (took - usual_answer_ns_) / 8;
    pace_.Answered({.bytes = Bytes(at->second.what.segment),
                    .alone = at->second.alone,
                    .follows = at->second.what.segment.follows,
                    .sent_ns = at->second.what.segment.sent_ns,
                    .arrived_ns = arrived_ns,
                    .now_ns = now_ns});
  } else {
    pace_.Interrupted();
  }
  const OutgoingSegment segment = at->second.what.segment;
  Drop(at);
  ++ledger_.acknowledged;
  return segment;
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
  pace_.Moved();
}

void SegmentSender::SendAllAgain() {
  for (auto& [sequence, sent] : sent_) {
    sent.what.was_sent = true;
    waiting_.insert(sent.what);
  }
  sent_.clear();
  on_the_way_ = 0;
  pace_.Moved();
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
  return std::min(setting_.window_bytes,
                  std::max(pace_.CreditBytes(), setting_.least_credit_bytes));
}

int64_t SegmentSender::next_retry_ns() const {
  int64_t next = INT64_MAX;
  for (const auto& [sequence, sent] : sent_) next = std::min(next, sent.retry_ns);
  return next;
}

int64_t SegmentSender::RetryAfter(int tries) const {
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
