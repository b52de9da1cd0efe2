// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "net/segment_sender.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

constexpr int64_t kLatencyNs = 5 * kNsPerMs;
constexpr int64_t kNsPerByte = 160;  // 50 Mb/s
constexpr int64_t kAnswerBytes = 300;

// A worker and a server with a model to send to each other, round by round, over a link of 50 Mb/s
// each way; the server begins a little later. An answer waits behind what was sent before it in its
// direction, as it does at a broker.
class BusyLink {
 public:
  struct Setting {
    std::array<int64_t, 2> segment_bytes = {1 << 17, 1 << 17};
    int64_t clock_offset_ns = 0;  // the second's clock is ahead by so much
    double drift = 0;             // and gains so much
    int64_t longer_after_ns = INT64_MAX;
    int64_t round_ns = 20 * kNsPerSecond;  // of sending in one direction alone
  };
  explicit BusyLink(const Setting& setting) : setting_(setting) {
    for (int side = 0; side < 2; ++side) {
      senders_.push_back(SegmentSender(
          {.window_bytes = 4 << 20,
           .segment_bytes = setting.segment_bytes[side],
           .least_credit_bytes = SegmentSender::LeastCredit(setting.round_ns / kNsPerByte)}));
    }
  }

  void RunFor(int64_t ns) {
    while (now_ < ns) {
      const FloatRange model{0, setting_.round_ns / kNsPerByte / 4};
      if (!second_begins_ && senders_[0].idle() && senders_[1].idle()) {
        senders_[0].Queue({.range = model}, 0);
        second_begins_ = now_ + kNsPerSecond / 3;
      }
      if (second_begins_ && now_ >= *second_begins_) {
        senders_[1].Queue({.range = model}, 0);
        second_begins_.reset();
      }
      for (int side = 0; side < 2; ++side) {
        while (const auto segment = senders_[side].Next(Clock(side))) {
          const int64_t bytes = segment->range.size() * 4;
          Put({.to = 1 - side, .sequence = segment->sequence, .bytes = bytes, .sent_ns = now_});
        }
      }
      CHECK_FALSE(on_the_way_.empty());
      const Packet packet = on_the_way_.top();
      on_the_way_.pop();
      now_ = packet.at_ns;
      if (packet.is_answer) {
        senders_[packet.to].Acknowledge(packet.sequence, packet.arrived_ns, Clock(packet.to));
      } else {
        carried_[1 - packet.to] += packet.bytes;
        longest_ns_ = std::max(longest_ns_, now_ > ns / 2 ? now_ - packet.sent_ns : 0);
        Put({.to = 1 - packet.to,
             .is_answer = true,
             .sequence = packet.sequence,
             .bytes = kAnswerBytes,
             .arrived_ns = Clock(packet.to)});
      }
    }
  }

  // Of what the line carries.
  double Used(int side) const {
    return static_cast<double>(carried_[side] * kNsPerByte) / static_cast<double>(now_);
  }
  // On the way, of the later half.
  int64_t longest_ns() const { return longest_ns_; }

 private:
  struct Packet {
    int64_t at_ns = 0;
    int to = 0;
    bool is_answer = false;
    uint64_t sequence = 0;
    int64_t bytes = 0;
    int64_t sent_ns = 0;
    int64_t arrived_ns = 0;  // an answer says

    bool operator<(const Packet& other) const { return at_ns > other.at_ns; }
  };

  int64_t Clock(int side) const {
    if (side == 0) return now_;
    return now_ + setting_.clock_offset_ns +
           static_cast<int64_t>(setting_.drift * static_cast<double>(now_));
  }
  void Put(Packet packet) {
    int64_t& free_ns = free_ns_[packet.to];
    free_ns = std::max(free_ns, now_) + packet.bytes * kNsPerByte;
    packet.at_ns = free_ns + kLatencyNs + (now_ > setting_.longer_after_ns ? 20 * kNsPerMs : 0);
    on_the_way_.push(packet);
  }

  const Setting setting_;
  std::vector<SegmentSender> senders_;
  std::priority_queue<Packet> on_the_way_;
  std::array<int64_t, 2> free_ns_ = {};
  std::array<int64_t, 2> carried_ = {};
  int64_t longest_ns_ = 0;
  std::optional<int64_t> second_begins_ = {};
  int64_t now_ = 0;
};

}  // namespace

TEST_GROUP(BusyLink){};

TEST(BusyLink, BothDirectionsAreBusyThoughAnswersWaitBehindWhatGoesTheOtherWay) {
  BusyLink link({});
  link.RunFor(60 * kNsPerSecond);
  CHECK(link.Used(0) > 0.95);
  CHECK(link.Used(1) > 0.95);
}

TEST(BusyLink, LargerMessagesDoNotCrowdOutSmallerOnes) {
  BusyLink link({.segment_bytes = {1 << 15, 1 << 18}});
  link.RunFor(60 * kNsPerSecond);
  CHECK(link.Used(0) > 0.90);
  CHECK(link.Used(1) > 0.90);
}

// By 40 ms there and back, as when a device moves to another cell.
TEST(BusyLink, AWayThatBecomesLongerIsNotTakenForOneThatIsFull) {
  BusyLink link({.longer_after_ns = 30 * kNsPerSecond});
  link.RunFor(120 * kNsPerSecond);
  CHECK(link.Used(0) > 0.90);
  CHECK(link.Used(1) > 0.90);
}

// What is urgent waits for a sixty-fourth of the model, 313 ms here, and little more.
TEST(BusyLink, WhatIsOnTheWayIsASmallPartOfTheRound) {
  BusyLink link({});
  link.RunFor(60 * kNsPerSecond);
  CHECK(link.longest_ns() < 400 * kNsPerMs);
}

TEST(BusyLink, TwoClocksNeedNotAgreeNorGoAlike) {
  for (const double drift : {-5e-5, 5e-5}) {
    BusyLink link({.clock_offset_ns = -3600 * kNsPerSecond, .drift = drift});
    link.RunFor(300 * kNsPerSecond);
    CHECK(link.Used(0) > 0.95);
    CHECK(link.Used(1) > 0.95);
  }
}

// A small model, of which the part above is next to nothing: 5 s in one direction alone.
TEST(BusyLink, ShortRoundsKeepItBusyToo) {
  BusyLink link({.segment_bytes = {1 << 15, 1 << 15}, .round_ns = 5 * kNsPerSecond});
  link.RunFor(60 * kNsPerSecond);
  CHECK(link.Used(0) > 0.80);  // 0.93 were possible, as the second begins a third of a second late
  CHECK(link.Used(1) > 0.80);
  CHECK(link.longest_ns() < 150 * kNsPerMs);
}

// A receiver may say anything about its clock: the window holds, and a segment always goes.
TEST(BusyLink, NonsenseAboutClocksIsSurvived) {
  SegmentSender sender({.window_bytes = 40'000, .segment_bytes = 4000});
  sender.Queue({.range = {0, 10'000'000}}, 0);
  const std::array<int64_t, 4> claims = {INT64_MIN, INT64_MAX, 0, -1};
  for (int64_t i = 0; i < 500; ++i) {
    std::vector<uint64_t> sent;
    while (const auto segment = sender.Next(i * kNsPerMs)) sent.push_back(segment->sequence);
    CHECK(sender.bytes_on_the_way() <= 40'000);
    CHECK_FALSE(sent.empty());
    for (const uint64_t sequence : sent) {
      sender.Acknowledge(sequence, claims[sequence % claims.size()], i * kNsPerMs + kNsPerMs / 2);
    }
  }
}

}  // namespace weft::net
