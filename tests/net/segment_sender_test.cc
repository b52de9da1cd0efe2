// SPDX-License-Identifier: Apache-2.0
#include "net/segment_sender.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "net/range_set.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

OutgoingSegment Of(int64_t begin, int64_t end, int64_t round = 0) {
  return {.round = round, .range = {begin, end}};
}

int64_t BytesOf(const OutgoingSegment& segment) { return segment.range.size() * 4; }

std::vector<OutgoingSegment> TakeAll(SegmentSender& sender, int64_t now_ns) {
  std::vector<OutgoingSegment> taken;
  while (const auto segment = sender.Next(now_ns)) taken.push_back(*segment);
  return taken;
}

int64_t Verdicts(const SegmentSender::Ledger& ledger) {
  return ledger.acknowledged + ledger.refused + ledger.expired;
}

// A peer over a bad link: what is sent is lost or delivered, answers come late, in any order, or
// never; connections break. Returns what went wrong.
std::string Transmit(uint64_t seed) {
  Rng rng(seed);
  const int64_t segment_bytes = 4 * rng.Between(1, 40);
  const int64_t window = rng.Between(1, 400);
  SegmentSender sender({.window_bytes = window, .segment_bytes = segment_bytes});
  RangeSet queued;
  RangeSet received;
  std::map<uint64_t, int64_t> outstanding;  // bytes by sequence
  std::map<uint64_t, FloatRange> known;     // what a sequence stands for, for ever
  std::vector<uint64_t> answers;            // on their way
  int64_t now = 0;
  int64_t place = 0;
  int64_t sends = 0;
  for (int step = 0; step < 20'000; ++step) {
    const bool calm = step > 1000;  // the faults end, everything must get there
    if (calm && sender.idle()) break;
    now += rng.Between(0, calm ? 5 * kNsPerSecond : kNsPerSecond);
    if (!calm && rng.Between(0, 9) == 0) {
      const int64_t size = rng.Between(1, 60);
      sender.Queue(Of(place, place + size), rng.Between(0, 3));
      queued.Add({place, place + size});
      place += size + 1;
    }
    if (!calm && rng.Between(0, 40) == 0) {
      sender.SendAllAgain();
      outstanding.clear();
      if (rng.Between(0, 1) == 0) answers.clear();
    }
    while (const auto segment = sender.Next(now)) {
      if (++sends > 100'000) return "it never stops sending";
      const auto [at, is_new] = known.try_emplace(segment->sequence, segment->range);
      if (at->second != segment->range) return "a sequence stands for two ranges";
      if (BytesOf(*segment) > segment_bytes) return "a segment is too large";
      outstanding[segment->sequence] = BytesOf(*segment);
      int64_t bytes = 0;
      int64_t largest = 0;
      for (const auto& [sequence, size] : outstanding) {
        bytes += size;
        largest = std::max(largest, size);
      }
      if (bytes != sender.bytes_on_the_way()) return "the bytes on the way are miscounted";
      if (bytes > std::max(window, largest)) return "the window was exceeded";
      if (!calm && rng.Between(0, 2) == 0) continue;  // lost
      received.Add(segment->range);
      answers.push_back(segment->sequence);
    }
    for (int64_t i = rng.Between(0, 4); i > 0 && !answers.empty(); --i) {
      const auto at = answers.begin() + rng.Between(0, static_cast<int64_t>(answers.size()) - 1);
      if (calm || rng.Between(0, 2) != 0) {
        sender.Acknowledge(*at, now, now);
        outstanding.erase(*at);
      }
      if (!calm && rng.Between(0, 3) == 0) continue;  // and it comes twice
      answers.erase(at);
    }
  }
  if (!sender.idle()) return "it is not done";
  if (sender.bytes_on_the_way() != 0) return "bytes are left on the way";
  if (queued.ranges() != received.ranges()) return "not everything was received";
  const SegmentSender::Ledger& ledger = sender.ledger();
  if (ledger.acknowledged != ledger.queued || ledger.refused + ledger.expired != 0) {
    return "the ledger does not close";
  }
  if (sends != ledger.queued + ledger.sent_again) {
    return "what was sent again is miscounted";
  }
  return "";
}

}  // namespace

TEST_GROUP(SegmentSender){};

TEST(SegmentSender, NothingIsLostAndTheWindowHoldsOverABadLink) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string wrong = Transmit(seed);
    if (!wrong.empty()) FAIL(("seed " + std::to_string(seed) + ": " + wrong).c_str());
  }
}

TEST(SegmentSender, CutsWhatIsLargerThanASegment) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 16});
  sender.Queue({.round = 3, .range = {10, 20}}, 0);
  const auto sent = TakeAll(sender, 0);
  CHECK_EQUAL(3u, sent.size());
  CHECK((sent[0].range == FloatRange{10, 14}));
  CHECK((sent[1].range == FloatRange{14, 18}));
  CHECK((sent[2].range == FloatRange{18, 20}));
  for (const OutgoingSegment& segment : sent) {
    CHECK_EQUAL(3, segment.round);
  }
  CHECK(sent[0].sequence != sent[1].sequence && sent[1].sequence != sent[2].sequence);
  CHECK(sent[0].sequence > 0);  // 0 is no segment's
}

TEST(SegmentSender, AConnectionMayAllowLessThanTheJob) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 400});
  sender.LimitSegments(8);
  sender.Queue(Of(0, 5), 0);
  CHECK_EQUAL(3u, TakeAll(sender, 0).size());
  sender.ForgetAll();
  sender.LimitSegments(-100);  // one float always goes
  sender.Queue(Of(0, 4), 0);
  CHECK_EQUAL(4u, TakeAll(sender, 0).size());
}

TEST(SegmentSender, ANewConnectionThatAllowsLessGetsWhatIsLeftInSmallerParts) {
  SegmentSender sender({.window_bytes = 80, .segment_bytes = 80});
  sender.Queue(Of(0, 20), 0);
  sender.Queue(Of(20, 40), 1);  // waits behind the window
  const auto before = TakeAll(sender, 0);
  CHECK_EQUAL(1u, before.size());
  sender.LimitSegments(32);
  sender.SendAllAgain();
  RangeSet received;
  while (!sender.idle()) {
    const auto sent = TakeAll(sender, kNsPerSecond);
    CHECK_FALSE(sent.empty());
    for (const OutgoingSegment& segment : sent) {
      CHECK(BytesOf(segment) <= 32);
      CHECK(segment.sequence != before[0].sequence);
      received.Add(segment.range);
      CHECK(sender.Acknowledge(segment.sequence, kNsPerSecond, kNsPerSecond).has_value());
    }
  }
  CHECK(received.Covers({0, 40}));
  CHECK_EQUAL(sender.ledger().queued, Verdicts(sender.ledger()));
}

TEST(SegmentSender, TheMostUrgentGoFirstAndEqualOnesByPlace) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 40});
  sender.Queue(Of(50, 55), 2);
  sender.Queue(Of(30, 35), 1);
  sender.Queue(Of(90, 95), 1);
  sender.Queue(Of(10, 15), 2);
  sender.Queue(Of(70, 75), -1);
  std::vector<int64_t> order;
  for (const OutgoingSegment& segment : TakeAll(sender, 0)) order.push_back(segment.range.begin);
  CHECK((order == std::vector<int64_t>{70, 30, 90, 10, 50}));
}

TEST(SegmentSender, WhatIsMoreUrgentOvertakesWhatWaits) {
  SegmentSender sender({.window_bytes = 20, .segment_bytes = 20});
  sender.Queue(Of(0, 5), 5);
  sender.Queue(Of(5, 10), 5);
  const auto first = TakeAll(sender, 0);
  sender.Queue(Of(100, 105), 1);
  CHECK_FALSE(sender.Next(0).has_value());
  CHECK(sender.Acknowledge(first[0].sequence, 1, 1).has_value());
  CHECK_EQUAL(100, sender.Next(1)->range.begin);
}

TEST(SegmentSender, OneSegmentGoesHoweverSmallTheWindow) {
  SegmentSender sender({.window_bytes = 1, .segment_bytes = 400});
  sender.Queue(Of(0, 100), 0);
  sender.Queue(Of(100, 200), 0);
  CHECK_EQUAL(1u, TakeAll(sender, 0).size());
  CHECK_EQUAL(400, sender.bytes_on_the_way());
}

TEST(SegmentSender, SendsAgainAfterThreeSecondsThenEachTimeAfterTwiceAsLongUpToHalfAMinute) {
  SegmentSender sender({.window_bytes = 100, .segment_bytes = 100});
  CHECK_EQUAL(INT64_MAX, sender.next_retry_ns());
  sender.Queue(Of(0, 1), 0);
  CHECK_EQUAL(INT64_MAX, sender.next_retry_ns());
  const uint64_t sequence = sender.Next(0)->sequence;
  int64_t now = 0;
  for (const int64_t wait_s : {3, 6, 12, 24, 30, 30, 30, 30, 30}) {
    CHECK_EQUAL(now + wait_s * kNsPerSecond, sender.next_retry_ns());
    CHECK_FALSE(sender.Next(now + wait_s * kNsPerSecond - 1).has_value());
    now += wait_s * kNsPerSecond;
    CHECK_EQUAL(sequence, sender.Next(now)->sequence);
    CHECK_FALSE(sender.Next(now).has_value());
  }
  CHECK_EQUAL(9, sender.ledger().sent_again);
  CHECK_EQUAL(4, sender.bytes_on_the_way());
}

TEST(SegmentSender, WaitsFourTimesAsLongAsAnswersTakeAndAtLeastHalfASecond) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  const auto retry_after = [&](int64_t answer_ns) {
    sender.Queue(Of(0, 1), 0);
    CHECK(sender.Acknowledge(sender.Next(0)->sequence, answer_ns, answer_ns).has_value());
    sender.Queue(Of(0, 1), 0);
    CHECK(sender.Next(0).has_value());
    const int64_t after = sender.next_retry_ns();
    sender.ForgetAll();
    return after;
  };
  CHECK_EQUAL(500 * kNsPerMs, retry_after(10 * kNsPerMs));
  CHECK_EQUAL(500 * kNsPerMs, retry_after(10 * kNsPerMs));
  CHECK_EQUAL(4 * kNsPerSecond, retry_after(kNsPerSecond));  // believed at once
  CHECK_EQUAL(4 * (kNsPerSecond - 936 * kNsPerMs / 64), retry_after(64 * kNsPerMs));
  CHECK_EQUAL(30 * kNsPerSecond, retry_after(10 * kNsPerSecond));
}

// At least as long as since the last copy it took; and until one is sure, patience stays doubled.
TEST(SegmentSender, AnAnswerThatMayBeToEitherCopyMakesNobodyLessPatient) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  sender.Queue(Of(0, 1), 0);
  const uint64_t sequence = sender.Next(0)->sequence;
  CHECK(sender.Next(3 * kNsPerSecond).has_value());
  CHECK(sender.Acknowledge(sequence, 5 * kNsPerSecond, 5 * kNsPerSecond).has_value());
  sender.Queue(Of(1, 2), 0);
  CHECK(sender.Next(0).has_value());
  CHECK_EQUAL(2 * 4 * 2 * kNsPerSecond, sender.next_retry_ns());
}

TEST(SegmentSender, PatienceBeginsWithTheLastAnswerToWhatWasSentBefore) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  sender.Queue(Of(0, 4), 0);
  std::vector<uint64_t> sent;
  for (int64_t i = 0; i < 4; ++i) sent.push_back(sender.Next(i * kNsPerMs)->sequence);
  CHECK_EQUAL(3 * kNsPerSecond, sender.next_retry_ns());
  CHECK(sender.Acknowledge(sent[0], 0, kNsPerSecond).has_value());
  CHECK_EQUAL(5 * kNsPerSecond, sender.next_retry_ns());  // the usual answer is a second now
  CHECK(sender.Acknowledge(sent[2], 0, 2 * kNsPerSecond + 2 * kNsPerMs).has_value());
  CHECK_EQUAL(kNsPerSecond + 8 * kNsPerSecond, sender.next_retry_ns());  // the second was overtaken
  CHECK_EQUAL(sent[1], sender.Next(9 * kNsPerSecond)->sequence);
}

TEST(SegmentSender, OfManyWithoutAnAnswerOneGoesAgainAtATime) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  sender.Queue(Of(0, 4), 0);
  const auto sent = TakeAll(sender, 0);
  CHECK_EQUAL(4u, sent.size());
  for (const int64_t at_s : {3, 9, 21, 45}) {
    CHECK_EQUAL(at_s * kNsPerSecond, sender.next_retry_ns());
    CHECK_EQUAL(1u, TakeAll(sender, at_s * kNsPerSecond).size());
  }
}

TEST(SegmentSender, AfterANewConnectionEverythingUnansweredGoesAgainAtOnce) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  sender.Queue(Of(0, 4), 0);
  const auto first = TakeAll(sender, 0);
  CHECK(sender.Acknowledge(first[1].sequence, 1, 1).has_value());
  sender.SendAllAgain();
  CHECK_EQUAL(0, sender.bytes_on_the_way());
  CHECK_FALSE(sender.idle());
  const auto again = TakeAll(sender, 2);
  CHECK_EQUAL(3u, again.size());
  CHECK_EQUAL(first[0].sequence, again[0].sequence);
  CHECK_EQUAL(3, sender.ledger().sent_again);
}

TEST(SegmentSender, AnAnswerFromBeforeTheNewConnectionStillCounts) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  sender.Queue(Of(0, 1), 0);
  const uint64_t sequence = sender.Next(0)->sequence;
  sender.SendAllAgain();
  CHECK(sender.Acknowledge(sequence, 1, 1).has_value());
  CHECK(sender.idle());
  CHECK_FALSE(sender.Acknowledge(sequence, 2, 2).has_value());
  CHECK_EQUAL(1, sender.ledger().acknowledged);
}

TEST(SegmentSender, WhatWasNeverSentCannotBeAnswered) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 4});
  sender.Queue(Of(0, 1), 0);
  for (uint64_t sequence = 0; sequence < 10; ++sequence) {
    CHECK_FALSE(sender.Acknowledge(sequence, 0, 0).has_value());
    CHECK_FALSE(sender.Refused(sequence));
  }
  CHECK_EQUAL(1u, TakeAll(sender, 0).size());
}

TEST(SegmentSender, EverySegmentHasOneVerdictInTheEnd) {
  SegmentSender sender({.window_bytes = 16, .segment_bytes = 4});
  for (int64_t round = 0; round < 3; ++round) sender.Queue(Of(0, 4, round), round);
  const auto sent = TakeAll(sender, 0);
  CHECK_EQUAL(4u, sent.size());
  CHECK(sender.Refused(sent[0].sequence));
  CHECK_FALSE(sender.Refused(sent[0].sequence));
  CHECK_FALSE(sender.Acknowledge(sent[0].sequence, 1, 1).has_value());
  CHECK(sender.Acknowledge(sent[1].sequence, 1, 1).has_value());
  TakeAll(sender, 1);  // two of round 1
  sender.ForgetBefore(1);
  CHECK_EQUAL(8, sender.bytes_on_the_way());
  CHECK_EQUAL(2, sender.ledger().expired);
  sender.ForgetBefore(2);
  CHECK_EQUAL(0, sender.bytes_on_the_way());
  CHECK_EQUAL(4u, TakeAll(sender, 2).size());  // round 2 is untouched
  sender.ForgetAll();
  CHECK(sender.idle());
  CHECK_EQUAL(12, sender.ledger().queued);
  CHECK_EQUAL(12, Verdicts(sender.ledger()));
}

TEST(SegmentSender, EarlierRoundsThenTurnsThenPlaces) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 1000});
  sender.Queue(Of(0, 1, 2), 0);
  sender.Queue(Of(1, 2, 1), 7);
  sender.Queue(Of(5, 6, 1), 3);
  sender.Queue(Of(2, 3, 1), 3);
  std::vector<int64_t> places;
  for (const OutgoingSegment& segment : TakeAll(sender, 0)) places.push_back(segment.range.begin);
  CHECK((places == std::vector<int64_t>{2, 5, 1, 0}));
}

// The link was busy between two segments if the second was there when the first left.
TEST(SegmentSender, TellsWhatWasWaitingWhenTheOneBeforeLeft) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 8});
  sender.Queue(Of(0, 4), 0);  // two messages
  std::vector<OutgoingSegment> sent = TakeAll(sender, 0);
  CHECK_EQUAL(2u, sent.size());
  CHECK_FALSE(sent[0].follows);
  CHECK(sent[1].follows);
  sender.Queue(Of(4, 6), 0);
  sent = TakeAll(sender, 1);
  CHECK_FALSE(sent[0].follows);  // the way may have been idle before it
  for (const int64_t at_s : {4, 100, 200})
    CHECK_FALSE(sender.Next(at_s * kNsPerSecond)->follows);  // again
}

TEST(SegmentSender, TellsWithTheAnswerWhenItWasLastSent) {
  SegmentSender sender({.window_bytes = 1000, .segment_bytes = 1000});
  sender.Queue(Of(0, 4), 0);
  sender.Queue(Of(4, 8), 0);
  TakeAll(sender, 5);
  LONGLONGS_EQUAL(5, sender.Acknowledge(1, 7, 9)->sent_ns);
  TakeAll(sender, 4 * kNsPerSecond);
  LONGLONGS_EQUAL(4 * kNsPerSecond,
                  sender.Acknowledge(2, 5 * kNsPerSecond, 5 * kNsPerSecond)->sent_ns);
}

// 1 MB/s and 50 ms there and back: 50 KB fill the way, and what is beyond it waits on it.
TEST(SegmentSender, KeepsAsMuchOnTheWayAsItTakes) {
  SegmentSender sender({.window_bytes = 400'000, .segment_bytes = 4000});
  sender.Queue(Of(0, 20'000'000), 0);
  CHECK_EQUAL(16'000, sender.credit_bytes());  // to begin with
  int64_t line_free = 0;
  std::vector<std::pair<int64_t, uint64_t>> answers;  // when, to what
  int64_t now = 0;
  size_t next = 0;
  int64_t sent_bytes = 0;
  while (now < 60 * kNsPerSecond) {
    while (const auto segment = sender.Next(now)) {
      line_free = std::max(line_free, now) + BytesOf(*segment) * 1000;
      answers.emplace_back(line_free + 50 * kNsPerMs, segment->sequence);
      sent_bytes += BytesOf(*segment);
    }
    CHECK(next < answers.size());
    now = answers[next].first;
    CHECK(sender.Acknowledge(answers[next++].second, now, now).has_value());
  }
  // 50 ms, 15 ms for good measure and two segments; and 6 ms, by which clocks may have drifted
  // apart since it was last idle.
  CHECK(sender.credit_bytes() >= 65'000 && sender.credit_bytes() <= 71'000 + 3 * 4000);
  CHECK(sender.bytes_on_the_way() <= sender.credit_bytes());
  CHECK(sent_bytes > 59'000'000 - 4000);  // the way was never idle
}

}  // namespace weft::net
