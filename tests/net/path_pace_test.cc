// SPDX-License-Identifier: Apache-2.0
#include "net/path_pace.h"

#include "core/clock.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

constexpr int64_t kBytes = 1000;  // of each answer; one arrives every millisecond

// What 400 answers teach, of which each two are heard the other way round if `swapped`.
int64_t CreditAfter(bool swapped) {
  PathPace pace;
  for (int64_t i = 0; i < 400; ++i) {
    const int64_t which = swapped ? i ^ 1 : i;
    pace.Answered({.bytes = kBytes,
                   .alone = i == 0,
                   .follows = true,
                   .sent_ns = (which - 20) * kNsPerMs,
                   .arrived_ns = which * kNsPerMs,
                   .now_ns = (i + 5) * kNsPerMs});
  }
  return pace.CreditBytes();
}

}  // namespace

TEST_GROUP(PathPace){};

TEST(PathPace, AnswersOfSeveralReceiversMayOvertakeEachOther) {
  const auto in_order = static_cast<double>(CreditAfter(false));
  CHECK(in_order > 15 * kBytes);
  DOUBLES_EQUAL(in_order, static_cast<double>(CreditAfter(true)), 0.15 * in_order);
}

}  // namespace weft::net
