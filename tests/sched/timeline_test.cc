// SPDX-License-Identifier: Apache-2.0
#include "sched/timeline.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {

TEST_GROUP(Timeline){};

TEST(Timeline, PortionsAddUpToTheWindow) {
  // Computing 10..30 and 40..50; pulling 0..15; pushing 20..25 and 22..45.
  const std::vector<Span> spans = {{Lane::kForward, 0, 1, 1, 10, 30},
                                   {Lane::kBackward, 0, 1, 1, 40, 50},
                                   {Lane::kPull, 0, 1, 1, 0, 15},
                                   {Lane::kPush, 0, 1, 1, 20, 25},
                                   {Lane::kPush, 0, 1, 1, 22, 45}};
  const Portions all = PortionsOf(spans, 0, 60);
  LONGLONGS_EQUAL(10, all.computing_alone_ns);      // 15..20, 45..50
  LONGLONGS_EQUAL(20, all.overlapping_ns);          // 10..15, 20..30, 40..45
  LONGLONGS_EQUAL(30, all.communicating_alone_ns);  // the rest, waiting at the end included
  LONGLONGS_EQUAL(60, all.total_ns());
}

TEST(Timeline, OnlyTheWindowCounts) {
  const std::vector<Span> spans = {{Lane::kForward, 0, 1, 1, 0, 100},
                                   {Lane::kPull, 0, 1, 1, 50, 150}};
  const Portions part = PortionsOf(spans, 40, 60);
  LONGLONGS_EQUAL(10, part.computing_alone_ns);
  LONGLONGS_EQUAL(10, part.overlapping_ns);
  LONGLONGS_EQUAL(0, part.communicating_alone_ns);
}

}  // namespace weft::sched
