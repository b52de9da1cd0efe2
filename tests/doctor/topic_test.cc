// SPDX-License-Identifier: Apache-2.0
// Every line of the broker's ACL missing in turn, all of them missing, and a broker whose limits
// are too small.
#include "apps/doctor/topic_checks.h"
#include "tests/doctor/answering_server.h"
#include "tests/doctor/doctor_house.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(DoctorTopics) {
  DoctorHouse house;

  Diagnosis AskWith(const DoctorHouse::Change& change, const char* timeout = "5") {
    const auto broker = house.Start(change);
    const AnsweringServer server(house.As("ps", broker->port()), AnsweringServer::Lenet());
    return house.AskEdge(house.Edge(broker->port(), {"--timeout", timeout}));
  }
};

TEST(DoctorTopics, EveryLineOfADeviceThatIsMissingIsNamed) {
  const std::pair<const char*, const char*> lanes[] = {
      {"ctl", "publish ctl"}, {"push", "publish push"}, {"telemetry", "publish telemetry"}};
  for (const auto& [lane, check] : lanes) {
    const std::string line = std::string("pattern write weft/digits/%u/") + lane;
    const Diagnosis said = AskWith({.without = line});
    STRCMP_EQUAL(check, said.Failed().c_str());
    STRCMP_CONTAINS((std::string("forbids 'w1' to publish on weft/digits/w1/") + lane).c_str(),
                    said.Detail(check).c_str());
    STRCMP_CONTAINS(line.c_str(), said.Fix(check).c_str());
    CHECK_EQUAL(1, said.exit_code);
  }
}

TEST(DoctorTopics, ADeviceThatMayNotListenIsToldThatNoAnswerCame) {
  const Diagnosis said = AskWith({.without = "pattern read weft/digits/%u/pull"}, "2");
  STRCMP_EQUAL("listen pull", said.Failed().c_str());
  STRCMP_CONTAINS("no answer of its came by weft/digits/w1/pull",
                  said.Detail("listen pull").c_str());
  STRCMP_CONTAINS("pattern read weft/digits/%u/pull", said.Fix("listen pull").c_str());
}

TEST(DoctorTopics, WhatTheServerMayNotHearIsNamedByTheDevicesDoctor) {
  for (const char* lane : {"push", "telemetry"}) {
    const std::string line = std::string("topic read weft/digits/+/") + lane;
    const Diagnosis said = AskWith({.without = line}, "2");
    STRCMP_EQUAL("echo", said.Failed().c_str());
    STRCMP_CONTAINS((std::string("does not hear weft/digits/w1/") + lane).c_str(),
                    said.Detail("echo").c_str());
    STRCMP_CONTAINS(line.c_str(), said.Fix("echo").c_str());
  }
  for (const char* line : {"topic read weft/digits/+/ctl", "topic write weft/digits/+/pull"}) {
    const Diagnosis said = AskWith({.without = line}, "2");
    STRCMP_EQUAL("listen pull", said.Failed().c_str());
    STRCMP_CONTAINS(line, said.Fix("listen pull").c_str());
  }
}

TEST(DoctorTopics, ABrokerWithoutAnAclIsFoundOutByDoingWhatIsForbidden) {
  const Diagnosis said = AskWith({.no_acl = true});
  STRCMP_EQUAL("forbidden publish, forbidden listening", said.Failed().c_str());
  STRCMP_CONTAINS("the broker's ACL is missing: it let 'w1' publish on",
                  said.Detail("forbidden publish").c_str());
  STRCMP_CONTAINS("the broker's ACL is missing: it let 'w1' listen on",
                  said.Detail("forbidden listening").c_str());
  STRCMP_CONTAINS("acl_file", said.Fix("forbidden publish").c_str());
  CHECK_EQUAL(1, said.exit_code);
}

TEST(DoctorTopics, OnOnesOwnMachineWithoutTlsThatIsAWarning) {
  const auto broker = house.StartPlain();
  const AnsweringServer server(net::Settings(broker->port(), "ps"), AnsweringServer::Lenet());
  const Diagnosis said =
      house.AskEdge(house.Edge(broker->port(), {"--ca", "", "--cert", "", "--key", ""}));
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("warning", said.State("forbidden publish").c_str());
  STRCMP_EQUAL("ok", said.State("echo").c_str());
  CHECK_EQUAL(0, said.exit_code);
}

TEST(DoctorTopics, ASmallPacketLimitIsAWarningAndATinyOneAFailure) {
  const auto limited = [](int bytes) {
    return DoctorHouse::Change{.more = "max_packet_size " + std::to_string(bytes)};
  };
  const Diagnosis small = AskWith(limited(65'536));
  STRCMP_EQUAL("", small.Failed().c_str());
  STRCMP_EQUAL("warning", small.State("limits").c_str());
  STRCMP_CONTAINS("segments of 131 kB go in pieces", small.Detail("limits").c_str());
  STRCMP_CONTAINS("max_packet_size 132352", small.Fix("limits").c_str());
  const Diagnosis tiny = AskWith(limited(1'500), "2");
  STRCMP_CONTAINS("limits", tiny.Failed().c_str());
  STRCMP_CONTAINS("max_packet_size", tiny.Fix("limits").c_str());
}

TEST(DoctorTopics, ABrokerThatTakesOneMessageAtATimeIsAWarning) {
  const Diagnosis said = AskWith({.more = "max_inflight_messages 1"});
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("warning", said.State("limits").c_str());
  STRCMP_CONTAINS("1 at a time, which holds up a window of 4.19 MB", said.Detail("limits").c_str());
  STRCMP_CONTAINS("max_inflight_messages", said.Fix("limits").c_str());
  // Without a job there is nothing it could hold up.
  net::BrokerLimits limits{.packet_bytes = 1 << 20, .receive_maximum = 1};
  CHECK(CheckLimits(limits, 0, 0, 0).state == CheckState::kOk);
  // An eighth of the window at a time is enough, and no message less.
  limits.receive_maximum = 4;
  CHECK(CheckLimits(limits, 128 << 10, 4 << 20, 0).state == CheckState::kOk);
  limits.receive_maximum = 3;
  CHECK(CheckLimits(limits, 128 << 10, 4 << 20, 0).state == CheckState::kWarning);
}

TEST(DoctorTopics, ABrokerWithoutQosOneIsToldSoOnce) {
  const Diagnosis said = AskWith({.more = "max_qos 0"});
  STRCMP_EQUAL("identity", said.Failed().c_str());
  STRCMP_CONTAINS("only QoS 0", said.Detail("identity").c_str());
  STRCMP_CONTAINS("max_qos 1", said.Fix("identity").c_str());
  STRCMP_EQUAL("because 'identity' fails", said.Detail("publish ctl").c_str());
}

}  // namespace weft::apps
