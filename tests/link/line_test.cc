// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "net/link/link_line.h"

#include <algorithm>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::net {

using Fate = LinkLine::Fate;

namespace {

LinkLine Line(const LinkSetting& setting) { return LinkLine(setting, 7, 0); }

void Carries(LinkLine& line, int64_t now_ns, int64_t bytes) {
  CHECK(line.Enter(now_ns, bytes) == Fate::kCarried);
}

// When each packet that is on the way arrives.
std::vector<int64_t> Arrivals(LinkLine& line) {
  std::vector<int64_t> arrivals;
  for (; line.next_due_ns() != LinkLine::kNever; line.Leave()) {
    arrivals.push_back(line.next_due_ns());
  }
  return arrivals;
}

}  // namespace

TEST_GROUP(LinkLine){};

TEST(LinkLine, APacketTakesItsBitsTimeAndTheDelay) {
  LinkLine line = Line({.rate_bps = 100'000'000, .delay_ns = 5 * kNsPerMs});
  Carries(line, 1'000, 1500);  // 12,000 bits at 10 ns each
  LONGLONGS_EQUAL(1'000 + 120'000 + 5 * kNsPerMs, line.next_due_ns());
}

TEST(LinkLine, PacketsWaitForThoseBefore) {
  LinkLine line = Line({.rate_bps = 100'000'000, .delay_ns = 5 * kNsPerMs});
  Carries(line, 0, 1500);
  Carries(line, 50'000, 500);    // while the first is on the line
  Carries(line, 400'000, 1000);  // when both are gone
  CHECK((Arrivals(line) ==
         std::vector<int64_t>{5'120'000, 5'160'000, 400'000 + 80'000 + 5 * kNsPerMs}));
}

TEST(LinkLine, NoRateIsOffByItsRounding) {
  // 7 Mb/s: a packet of 1500 bytes takes 1,714,285.714... ns. Seven of them take 12 ms.
  LinkLine line = Line({.rate_bps = 7'000'000, .queue_bytes = 2 << 20});
  for (int i = 0; i < 700; ++i) Carries(line, 0, 1500);
  LONGLONGS_EQUAL(1'200 * kNsPerMs, Arrivals(line).back());
}

TEST(LinkLine, WithoutALimitOnlyTheDelayCounts) {
  LinkLine line = Line({.rate_bps = 0, .delay_ns = 3 * kNsPerMs});
  for (int i = 0; i < 1000; ++i) Carries(line, 10 + i, 65'000);
  LONGLONGS_EQUAL(10 + 3 * kNsPerMs, line.next_due_ns());
  LONGLONGS_EQUAL(0, line.BacklogBytes(10));
  LONGLONGS_EQUAL(1009 + 3 * kNsPerMs, Arrivals(line).back());
}

TEST(LinkLine, AFullQueueDropsWhatComes) {
  LinkLine line = Line({.rate_bps = 8'000'000, .queue_bytes = 3000});  // a byte a microsecond
  Carries(line, 0, 1500);
  Carries(line, 0, 1500);
  LONGLONGS_EQUAL(3000, line.BacklogBytes(0));
  CHECK(line.Enter(0, 1) == Fate::kQueueFull);
  CHECK(line.Enter(999'000, 1000) == Fate::kQueueFull);  // 2001 bytes are still there
  Carries(line, 1'000'000, 1000);
  CHECK((Arrivals(line) == std::vector<int64_t>{1'500'000, 3'000'000, 4'000'000}));
}

TEST(LinkLine, AnIdleLineTakesAnyPacket) {
  LinkLine line = Line({.rate_bps = 8'000'000, .queue_bytes = 100});
  Carries(line, 0, 1500);
  CHECK(line.Enter(1, 60) == Fate::kQueueFull);
  Carries(line, 1'500'000, 1500);
}

TEST(LinkLine, WhatIsLostTookItsTimeOnTheLine) {
  LinkLine line = Line({.rate_bps = 8'000'000, .loss = 1});
  CHECK(line.Enter(0, 1500) == Fate::kLost);
  LONGLONGS_EQUAL(LinkLine::kNever, line.next_due_ns());
  line.Change(0, {.rate_bps = 8'000'000});
  Carries(line, 0, 500);
  LONGLONGS_EQUAL(2'000'000, line.next_due_ns());
}

TEST(LinkLine, LossTakesTheShareItIsTold) {
  const LinkSetting setting = {.loss = 0.1};
  const auto lost = [&](uint64_t seed) {
    LinkLine line(setting, seed, 3);
    std::vector<int> which;
    for (int i = 0; i < 100'000; ++i) {
      if (line.Enter(i, 100) == Fate::kLost) which.push_back(i);
    }
    return which;
  };
  // Four standard deviations are 380.
  CHECK(lost(1).size() > 9'620 && lost(1).size() < 10'380);
  CHECK(lost(1) == lost(1));
  CHECK(lost(1) != lost(2));
}

TEST(LinkLine, JitterDelaysButNeverReorders) {
  LinkLine line = Line({.delay_ns = 5 * kNsPerMs, .jitter_ns = 2 * kNsPerMs});
  int64_t least = LinkLine::kNever;
  int64_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t now_ns = i * 10 * kNsPerMs;  // far apart: each has its own delay
    Carries(line, now_ns, 100);
    least = std::min(least, line.next_due_ns() - now_ns);
    most = std::max(most, line.next_due_ns() - now_ns);
    line.Leave();
  }
  CHECK(least >= 5 * kNsPerMs && least < 5 * kNsPerMs + kNsPerMs / 50);
  CHECK(most <= 7 * kNsPerMs && most > 7 * kNsPerMs - kNsPerMs / 50);
  for (int i = 0; i < 2000; ++i) Carries(line, 30'000 * kNsPerMs + i * 1000, 100);
  const std::vector<int64_t> arrivals = Arrivals(line);
  CHECK(std::is_sorted(arrivals.begin(), arrivals.end()));
  CHECK(arrivals.back() > arrivals.front());
}

TEST(LinkLine, AChangeOfRateMovesWhatWaits) {
  LinkLine line = Line({.rate_bps = 8'000'000, .delay_ns = kNsPerMs});
  Carries(line, 0, 1000);  // leaves at 1 ms
  Carries(line, 0, 1000);  // would leave at 2 ms
  Carries(line, 0, 1000);  // would leave at 3 ms
  line.Change(1'500'000, {.rate_bps = 4'000'000, .delay_ns = kNsPerMs});
  LONGLONGS_EQUAL(1500, line.BacklogBytes(1'500'000));
  // The first had left; half of the second and the third go at half the rate.
  Carries(line, 1'500'000, 500);
  CHECK((Arrivals(line) == std::vector<int64_t>{2'000'000, 3'500'000, 5'500'000, 6'500'000}));
}

TEST(LinkLine, WithoutALimitEverythingThatWaitsLeaves) {
  LinkLine line = Line({.rate_bps = 8'000'000, .delay_ns = kNsPerMs});
  for (int i = 0; i < 3; ++i) Carries(line, 0, 1000);
  line.Change(1'500'000, {.rate_bps = 0, .delay_ns = kNsPerMs});
  CHECK((Arrivals(line) == std::vector<int64_t>{2'000'000, 2'500'000, 2'500'000}));
  // And back: the line is free at once.
  line.Change(2'000'000, {.rate_bps = 8'000'000});
  Carries(line, 3'000'000, 1000);
  LONGLONGS_EQUAL(4'000'000, line.next_due_ns());
}

TEST(LinkLine, AShorterDelayLetsNothingOvertake) {
  LinkLine line = Line({.rate_bps = 8'000'000, .delay_ns = 50 * kNsPerMs});
  Carries(line, 0, 1000);
  Carries(line, 0, 1000);
  line.Change(1'200'000, {.rate_bps = 8'000'000, .delay_ns = kNsPerMs});
  // The first is on its way and arrives at 51 ms; the second may not come before.
  CHECK((Arrivals(line) == std::vector<int64_t>{51 * kNsPerMs, 51 * kNsPerMs}));
  Carries(line, 100 * kNsPerMs, 1000);
  LONGLONGS_EQUAL(102 * kNsPerMs, line.next_due_ns());
}

TEST(LinkLine, HoldsAsManyAsThereAre) {
  LinkLine line = Line({.delay_ns = 1'000 * kNsPerMs});
  for (int i = 0; i < 5000; ++i) {
    Carries(line, 2 * i, 100);
    if (i % 3 == 0) line.Leave();
  }
  const std::vector<int64_t> arrivals = Arrivals(line);
  LONGS_EQUAL(5000 - 1667, arrivals.size());
  LONGLONGS_EQUAL(2 * 1667 + 1'000 * kNsPerMs, arrivals.front());
  LONGLONGS_EQUAL(2 * 4999 + 1'000 * kNsPerMs, arrivals.back());
}

TEST(LinkLine, TheDefaultQueueIsARoundTripsWorthAndARouters) {
  const auto queue = [](int64_t rate_bps, int64_t delay_ns) {
    return DefaultQueueBytes({.rate_bps = rate_bps, .delay_ns = delay_ns});
  };
  constexpr int64_t kRouter = 262'144;
  LONGLONGS_EQUAL(125'000 + kRouter, queue(100'000'000, 5 * kNsPerMs));
  LONGLONGS_EQUAL(1'250'000 + kRouter, queue(1'000'000'000, 5 * kNsPerMs));
  LONGLONGS_EQUAL(12'500 + kRouter, queue(10'000'000, 5 * kNsPerMs));
  LONGLONGS_EQUAL(250'000 + kRouter, queue(1'000'000'000, 0));  // 2 ms
  LONGLONGS_EQUAL(kMostLinkQueueBytes, queue(kMostLinkRateBps, kMostLinkDelayNs));
}

TEST(LinkLine, SettingsOutOfRangeAreRefused) {
  CHECK(Validate({}).ok());
  CHECK(Validate({.rate_bps = 1'000, .delay_ns = kMostLinkDelayNs, .loss = 1}).ok());
  for (const LinkSetting& wrong :
       {LinkSetting{.rate_bps = 999}, LinkSetting{.rate_bps = -1},
        LinkSetting{.rate_bps = kMostLinkRateBps + 1}, LinkSetting{.delay_ns = -1},
        LinkSetting{.delay_ns = kMostLinkDelayNs + 1}, LinkSetting{.jitter_ns = -1},
        LinkSetting{.loss = 1.01}, LinkSetting{.loss = -0.1}, LinkSetting{.loss = 0.0 / 0.0},
        LinkSetting{.queue_bytes = -1}, LinkSetting{.queue_bytes = kMostLinkQueueBytes + 1}}) {
    CHECK(Validate(wrong).code() == StatusCode::kInvalidInput);
  }
}

}  // namespace weft::net
