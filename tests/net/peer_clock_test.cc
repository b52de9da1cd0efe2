// SPDX-License-Identifier: Apache-2.0
#include "net/peer_clock.h"

#include "core/clock.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

TEST_GROUP(PeerClock) {
  PeerClock clock;

  // What is heard of an event at `ours_ns` after so long on the way.
  int64_t Read(int64_t ours_ns, int64_t ahead_ns, int64_t way_ns) {
    return clock.OurTime(ours_ns + ahead_ns, ours_ns + way_ns);
  }
};

TEST(PeerClock, TellsWhenThingsWereHoweverLateOneHears) {
  for (const int64_t ahead : {-86'400 * kNsPerSecond, int64_t{0}, 3'600 * kNsPerSecond}) {
    clock.Reset();
    LONGS_EQUAL(5 * kNsPerMs, Read(0, ahead, 5 * kNsPerMs));
    // 300 ms late: known but for the quickest way, and drift for so long.
    const int64_t read = Read(100 * kNsPerMs, ahead, 300 * kNsPerMs);
    CHECK(read >= 105 * kNsPerMs && read <= 105 * kNsPerMs + 100'000);
  }
}

TEST(PeerClock, AnEventIsNeverInTheFuture) {
  CHECK(clock.OurTime(INT64_MAX, kNsPerSecond) <= kNsPerSecond);
  CHECK(clock.OurTime(0, 2 * kNsPerSecond) <= 2 * kNsPerSecond);
}

TEST(PeerClock, AClockThatStoodStillForASecondIsReadRightAgainAfterAMinute) {
  int64_t now = 0;
  for (; now < 40 * kNsPerSecond; now += kNsPerSecond) Read(now, 0, kNsPerMs);
  CHECK(Read(now, -kNsPerSecond, kNsPerMs) < now - kNsPerSecond / 2);
  for (; now < 101 * kNsPerSecond; now += kNsPerSecond) Read(now, -kNsPerSecond, kNsPerMs);
  const int64_t read = Read(now, -kNsPerSecond, kNsPerMs);
  CHECK(read > now && read <= now + kNsPerMs);
}

}  // namespace weft::net
