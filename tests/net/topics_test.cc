// SPDX-License-Identifier: Apache-2.0
#include "net/topics.h"

#include <string>

#include "net/refusal.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {

TEST_GROUP(Topics){};

TEST(Topics, AreNamedByJobServerWorkerAndLane) {
  CHECK_EQUAL(std::string("weft/job/w1/ctl"), TopicOf("job", "w1", Lane::kControl));
  CHECK_EQUAL(std::string("weft/job/w1/push"), TopicOf("job", "w1", Lane::kPush));
  CHECK_EQUAL(std::string("weft/job/w1/telemetry"), TopicOf("job", "w1", Lane::kTelemetry));
  CHECK_EQUAL(std::string("weft/job:2/w1/pull"), TopicOf(JobLevel("job", 2, 3), "w1", Lane::kPull));
  CHECK_EQUAL(std::string("job"), JobLevel("job", 0, 1));
  CHECK_EQUAL(std::string("job:0"), JobLevel("job", 0, 2));
  CHECK_EQUAL(std::string("weft/job:1/+/push"), AllWorkers("job:1", Lane::kPush));
}

TEST(Topics, ComeApartAsTheyWerePutTogether) {
  for (const Lane lane : {Lane::kControl, Lane::kPush, Lane::kTelemetry, Lane::kPull}) {
    for (const char* level : {"job", "job:0", "a.b-c_D:17"}) {
      for (const char* worker : {"w", "pi-4.kitchen", "0"}) {
        const std::string topic = TopicOf(level, worker, lane);
        const auto parts = ParseTopic(topic);
        CHECK(parts.has_value());
        CHECK(parts->job_level == level && parts->worker == worker && parts->lane == lane);
      }
    }
  }
}

TEST(Topics, OfOthersAreNone) {
  for (const char* topic :
       {"", "weft", "weft/", "weft/job", "weft/job/", "weft/job/w1", "weft/job/w1/",
        "weft/job/w1/pus", "weft/job/w1/pushy", "weft/job/w1/push/", "weft/job/w1/x/push",
        "Weft/job/w1/push", "/weft/job/w1/push", "$SYS/broker/version"}) {
    if (ParseTopic(topic)) FAIL(topic);
  }
}

TEST(Topics, PartsThatAreEmptyAreForTheGateToRefuse) {
  const auto parts = ParseTopic("weft///push");
  CHECK(parts.has_value());
  CHECK(parts->job_level.empty() && parts->worker.empty());
  CHECK_FALSE(IsName(parts->worker));
}

TEST(Topics, NamesAreOfLettersDigitsAndThreeSigns) {
  for (int c = 0; c < 256; ++c) {
    const bool good = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '-' || c == '_' || c == '.';
    CHECK_EQUAL(good, IsName(std::string("a") + static_cast<char>(c)));
    CHECK_EQUAL(good && c != '.', IsName(std::string(1, static_cast<char>(c))));
  }
  CHECK_FALSE(IsName(""));
  CHECK_TRUE(IsName(std::string(64, 'n')));
  CHECK_FALSE(IsName(std::string(65, 'n')));
}

TEST(Topics, EveryReasonHasANameOfItsOwn) {
  for (int a = 1; a < kReasons; ++a) {
    CHECK(Name(static_cast<Reason>(a)) != "UNKNOWN_REASON");
    for (int b = 1; b < a; ++b) CHECK(Name(static_cast<Reason>(a)) != Name(static_cast<Reason>(b)));
  }
  CHECK(Name(static_cast<Reason>(0)) == "UNKNOWN_REASON");
  CHECK(Name(static_cast<Reason>(kReasons)) == "UNKNOWN_REASON");
}

}  // namespace weft::net
