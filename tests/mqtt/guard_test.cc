// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/guard/guard.h"

#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

using Verdict = Guard::Verdict;

}  // namespace

TEST_GROUP(Guard) {
  Guard guard;
  bool Passes(const std::string& user, int64_t now_ns) {
    return guard.Look({.user = user}, now_ns) == Verdict::kPass;
  }
};

TEST(Guard, LetsMqtt5PassAndNothingOlder) {
  CHECK(guard.Look({.user = "a", .mqtt_version = 5}, 0) == Verdict::kPass);
  CHECK(guard.Look({.user = "a", .mqtt_version = 4}, 0) == Verdict::kOldProtocol);
  CHECK(guard.Look({.user = "a", .mqtt_version = 3}, 0) == Verdict::kOldProtocol);
}

TEST(Guard, LetsNobodyPublishWithoutAwaitingAnAnswer) {
  CHECK(guard.Look({.user = "a", .publishes = true, .qos = 0}, 0) == Verdict::kUnanswered);
  CHECK(guard.Look({.user = "a", .publishes = true, .qos = 1}, 0) == Verdict::kPass);
  CHECK(guard.Look({.user = "a", .publishes = false, .qos = 0}, 0) == Verdict::kPass);
}

TEST(Guard, WhoIsShutOutComesInAgainAfterAMinute) {
  CHECK_TRUE(guard.ShutOut("a", 7));
  CHECK(guard.Look({.user = "a"}, 7) == Verdict::kShutOut);
  CHECK_TRUE(Passes("b", 7));
  CHECK_FALSE(Passes("a", 6 + Guard::kShutOutNs));
  CHECK_TRUE(Passes("a", 7 + Guard::kShutOutNs));
}

TEST(Guard, SaidOnceMoreItIsForLonger) {
  CHECK_TRUE(guard.ShutOut("a", 0));
  CHECK_FALSE(guard.ShutOut("a", 10));
  CHECK_FALSE(Passes("a", 9 + Guard::kShutOutNs));
  CHECK_TRUE(guard.ShutOut("a", 10 + Guard::kShutOutNs));  // it was over
}

TEST(Guard, KeepsABoundedNumberAndForgetsTheOldest) {
  for (size_t i = 0; i < Guard::kMostShutOut; ++i) {
    guard.ShutOut(std::to_string(i), static_cast<int64_t>(i));
  }
  guard.ShutOut("one more", Guard::kMostShutOut);
  CHECK_TRUE(Passes("0", Guard::kMostShutOut));
  CHECK_FALSE(Passes("1", Guard::kMostShutOut));
  CHECK_FALSE(Passes("one more", Guard::kMostShutOut));
  // Those whose time is over make room first.
  const int64_t later = Guard::kShutOutNs + 5000;
  guard.ShutOut("another", later);
  CHECK_FALSE(Passes("6000", later));
  CHECK_FALSE(Passes("another", later));
}

}  // namespace weft::net
