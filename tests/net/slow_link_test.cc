// SPDX-License-Identifier: Apache-2.0
// What goes twice: nothing if nothing is lost, however slow the line is and whatever waits on it,
// and little besides what is lost.
#include "core/clock.h"
#include "net/segment_sender.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

constexpr int64_t kModelBytes = 45 << 20;
constexpr int64_t kVerdictBytes = 300;

// A worker that sends a model to its servers, round by round, over one line; answers have another.
class SlowLink {
 public:
  struct Setting {
    double mbps = 1;
    int64_t round_trip_ns = 20 * kNsPerMs;
    int servers = 1;
    int64_t segment_bytes = 1 << 17;
    int64_t model_bytes = kModelBytes;
  };
  explicit SlowLink(const Setting& setting)
      : setting_(setting), mbps_(setting.mbps), own_(setting.model_bytes / setting.servers) {
    for (int i = 0; i < setting.servers; ++i) {
      senders_.push_back(SegmentSender({.window_bytes = 4 << 20,
                                        .segment_bytes = setting.segment_bytes,
                                        .least_credit_bytes = SegmentSender::LeastCredit(own_)}));
    }
  }

  struct Round {
    int64_t took_ns = 0;
    int64_t sent_bytes = 0;
    int64_t sent_again = 0;
  };
  Round RunRound() {
    const int64_t begin_ns = now_;
    const int64_t again = SentAgain();
    sent_bytes_ = 0;
    for (SegmentSender& sender : senders_)
      sender.Queue({.round = round_, .range = {0, own_ / 4}}, 0);
    ++round_;
    for (;;) {
      for (size_t i = 0; i < senders_.size(); ++i) {
        while (const auto segment = senders_[i].Next(now_)) Put(i, *segment);
      }
      int64_t next = answers_.empty() ? INT64_MAX : answers_.front().at_ns;
      for (const SegmentSender& sender : senders_) next = std::min(next, sender.next_retry_ns());
      if (next == INT64_MAX) break;
      CHECK(next > now_ || (!answers_.empty() && next == answers_.front().at_ns));
      now_ = next;
      while (!answers_.empty() && answers_.front().at_ns <= now_) {
        const Answer answer = answers_.front();
        answers_.pop_front();
        senders_[answer.from].Acknowledge(answer.sequence, answer.arrived_ns, now_);
      }
    }
    for (const SegmentSender& sender : senders_) CHECK(sender.idle());
    return {now_ - begin_ns, sent_bytes_, SentAgain() - again};
  }

  int64_t now_ns() const { return now_; }
  // Of one byte after the other.
  int64_t LineNs(int64_t bytes) const {
    return static_cast<int64_t>(static_cast<double>(bytes) * 8000 / mbps_);
  }
  void SetMbps(double mbps) { mbps_ = mbps; }
  // Nothing gets through, and nothing is lost.
  void StandStill(int64_t from_ns, int64_t until_ns) {
    still_from_ = from_ns;
    still_until_ = until_ns;
  }
  // Called for each segment when it is sent.
  std::function<bool()> is_lost = [] { return false; };

 private:
  struct Answer {
    int64_t at_ns = 0;
    size_t from = 0;
    uint64_t sequence = 0;
    int64_t arrived_ns = 0;
  };

  int64_t SentAgain() const {
    int64_t sum = 0;
    for (const SegmentSender& sender : senders_) sum += sender.ledger().sent_again;
    return sum;
  }
  void Put(size_t from, const OutgoingSegment& segment) {
    const int64_t bytes = segment.range.size() * 4;
    sent_bytes_ += bytes;
    line_free_ = std::max(line_free_, now_) + LineNs(bytes);
    if (line_free_ > still_from_ && line_free_ <= still_until_) line_free_ = still_until_;
    if (is_lost()) return;
    const int64_t arrived = line_free_ + setting_.round_trip_ns / 2;
    answer_line_free_ = std::max(answer_line_free_, arrived) + LineNs(kVerdictBytes);
    answers_.push_back({.at_ns = answer_line_free_ + setting_.round_trip_ns / 2,
                        .from = from,
                        .sequence = segment.sequence,
                        .arrived_ns = arrived});
  }

  const Setting setting_;
  double mbps_;
  const int64_t own_;
  std::vector<SegmentSender> senders_;
  std::deque<Answer> answers_;
  int64_t line_free_ = 0;
  int64_t answer_line_free_ = 0;
  int64_t still_from_ = INT64_MAX;
  int64_t still_until_ = 0;
  int64_t now_ = 0;
  int64_t round_ = 0;
  int64_t sent_bytes_ = 0;
};

}  // namespace

TEST_GROUP(SlowLink){};

TEST(SlowLink, NothingGoesTwiceIfNothingIsLostNotInTheFirstRoundEither) {
  for (const double mbps : {1, 2, 5, 50}) {
    SlowLink link({.mbps = mbps});
    for (int round = 0; round < 3; ++round) {
      const SlowLink::Round done = link.RunRound();
      CHECK_EQUAL(0, done.sent_again);
      CHECK_EQUAL(kModelBytes, done.sent_bytes);
      // The line was never idle, but for the last answer.
      CHECK(done.took_ns < link.LineNs(kModelBytes) + 200 * kNsPerMs);
    }
  }
}

TEST(SlowLink, NorWhereFourServersShareALine) {
  for (const double mbps : {20, 10}) {
    SlowLink link({.mbps = mbps, .servers = 4});
    for (int round = 0; round < 3; ++round) LONGS_EQUAL(0, link.RunRound().sent_again);
  }
  // The first answer comes later than anybody waits who knows nothing: each asks once or twice.
  SlowLink link({.mbps = 1, .servers = 4});
  CHECK(link.RunRound().sent_bytes < kModelBytes * 102 / 100);
  LONGS_EQUAL(0, link.RunRound().sent_again);
}

// A segment alone takes 8.4 s where one waits 3 s for the first answer.
TEST(SlowLink, SegmentsThatTakeLongerThanPatienceTeachIt) {
  SlowLink link({.mbps = 1, .segment_bytes = 1 << 20});
  CHECK(link.RunRound().sent_again <= 4);
  LONGS_EQUAL(0, link.RunRound().sent_again);
}

TEST(SlowLink, AFastLineIsFullFromTheFirstRoundOn) {
  for (const double mbps : {50, 100, 300}) {
    for (const int64_t round_trip_ms : {1, 10, 30}) {
      SlowLink link({.mbps = mbps, .round_trip_ns = round_trip_ms * kNsPerMs});
      for (int round = 0; round < 3; ++round) {
        CHECK(link.RunRound().took_ns <
              link.LineNs(kModelBytes) * 102 / 100 + 2 * round_trip_ms * kNsPerMs);
      }
    }
  }
}

// 3.75 MB fill the way; it takes some round trips to find that out.
TEST(SlowLink, ALongAndFastLineIsFullAfterSomeRoundTrips) {
  SlowLink link({.mbps = 300, .round_trip_ns = 100 * kNsPerMs});
  CHECK(link.RunRound().took_ns < link.LineNs(kModelBytes) + 400 * kNsPerMs);
  for (int round = 1; round < 5; ++round) {
    CHECK(link.RunRound().took_ns < link.LineNs(kModelBytes) * 110 / 100 + 100 * kNsPerMs);
  }
}

TEST(SlowLink, ALineThatStandsStillIsNotFilledWithCopies) {
  for (const int64_t still_s : {2, 10, 60}) {
    SlowLink link({.mbps = 5});
    link.RunRound();
    link.StandStill(link.now_ns() + 20 * kNsPerSecond,
                    link.now_ns() + (20 + still_s) * kNsPerSecond);
    const SlowLink::Round done = link.RunRound();
    CHECK(done.sent_again <= 6);
    LONGS_EQUAL(0, link.RunRound().sent_again);
  }
}

TEST(SlowLink, ALineThatBecomesAHundredTimesSlowerIsNotFilledWithCopies) {
  SlowLink link({.mbps = 100});
  for (int round = 0; round < 3; ++round) link.RunRound();
  link.SetMbps(1);
  CHECK(link.RunRound().sent_again <= 8);
  LONGS_EQUAL(0, link.RunRound().sent_again);
}

TEST(SlowLink, OneThatIsLostAmongManyGoesAgainSoonAndAlone) {
  SlowLink link({.mbps = 50});
  link.RunRound();
  int64_t count = 0;
  link.is_lost = [&count] { return ++count == 100; };
  const SlowLink::Round done = link.RunRound();
  CHECK_EQUAL(1, done.sent_again);
  CHECK(done.took_ns < link.LineNs(kModelBytes) + 200 * kNsPerMs);  // long before the round's end
}

TEST(SlowLink, EachOfManyThatAreLostGoesAgainOnce) {
  SlowLink link({.mbps = 50});
  link.RunRound();
  int64_t count = 0;
  int64_t lost = 0;
  link.is_lost = [&] { return ++count % 10 == 0 && ++lost > 0; };
  const SlowLink::Round done = link.RunRound();
  CHECK_EQUAL(lost, done.sent_again);
  CHECK(done.took_ns < link.LineNs(done.sent_bytes) + 6 * kNsPerSecond);
}

TEST(SlowLink, WhatIsLostBeforeAnythingIsKnownHoldsNobodyUpForLong) {
  SlowLink link({.mbps = 50});
  int64_t count = 0;
  link.is_lost = [&count] { return ++count <= 5; };  // all that go at first
  const SlowLink::Round done = link.RunRound();
  CHECK_EQUAL(5, done.sent_again);
  CHECK(done.took_ns < link.LineNs(kModelBytes) + 10 * kNsPerSecond);
}

// As when the other side reads nothing for a while: in the middle, and at the end, of a round.
TEST(SlowLink, WhatIsLostInASecondIsThereSoonAfter) {
  for (const int64_t from_ms : {3000, 7400}) {
    SlowLink link({.mbps = 50});
    link.RunRound();
    const int64_t from_ns = link.now_ns() + from_ms * kNsPerMs;
    int64_t lost = 0;
    link.is_lost = [&] {
      return link.now_ns() >= from_ns && link.now_ns() < from_ns + kNsPerSecond && ++lost > 0;
    };
    const SlowLink::Round done = link.RunRound();
    CHECK(lost > 3);
    CHECK_EQUAL(lost, done.sent_again);
    CHECK(done.took_ns < link.LineNs(kModelBytes) + 6 * kNsPerSecond);
  }
}

}  // namespace weft::net
