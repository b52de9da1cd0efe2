// SPDX-License-Identifier: Apache-2.0
// What the gate lets through and what it turns away, before any server sees it.
#include "cloud_ps/input_gate.h"

#include <string>
#include <vector>

#include "net/codec/codec.h"
#include "tests/net/seal.h"

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

using net::Lane;
using net::Reason;

constexpr float kData[] = {1, 2, 3, 4};

net::Header HeaderOf(const std::string& worker) {
  return {.job = "job", .shard = 1, .shards = 3, .epoch = 1, .worker = worker, .incarnation = 9};
}

net::Segment SomeSegment() {
  return {.sequence = 5, .total = 16, .data = std::as_bytes(std::span(kData))};
}

const InputGate& Gate() {
  static const InputGate gate({.job = "job", .shard = 1, .shards = 3, .max_message_bytes = 400});
  return gate;
}

// Nullopt if it was let through.
std::optional<InputGate::Turned> Turned(const std::string& topic, std::span<const std::byte> bytes,
                                        bool retained = false) {
  const net::Payload payload = net::Payload::CopyOf(bytes);
  auto looked = Gate().Look(topic, payload, retained);
  if (auto* turned = std::get_if<InputGate::Turned>(&looked)) return *turned;
  return std::nullopt;
}

std::optional<InputGate::Turned> Turned(const std::string& topic, const net::Message& message) {
  return Turned(topic, net::Encode(message).bytes());
}

}  // namespace

TEST_GROUP(InputGate){};

TEST(InputGate, LetsThroughWhatAWorkerSaysOnItsOwnLane) {
  CHECK_FALSE(Turned("weft/job:1/w1/ctl", {HeaderOf("w1"), net::Heartbeat{}}).has_value());
  CHECK_FALSE(Turned("weft/job:1/w1/ctl", {HeaderOf("w1"), net::Ack{}}).has_value());
  CHECK_FALSE(Turned("weft/job:1/w1/push", {HeaderOf("w1"), SomeSegment()}).has_value());
  CHECK_FALSE(Turned("weft/job:1/w1/telemetry", {HeaderOf("w1"), net::Telemetry{}}).has_value());
}

TEST(InputGate, TurnsAwayOtherTopicsAndTellsNobody) {
  for (const char* topic : {"weft/job/w1/ctl", "weft/job:0/w1/ctl", "weft/other:1/w1/ctl",
                            "weft/job:1/w1/pull", "nonsense", ""}) {
    const auto turned = Turned(topic, {HeaderOf("w1"), net::Heartbeat{}});
    CHECK(turned && turned->refusal.reason == Reason::kWrongJob && turned->worker.empty());
  }
}

TEST(InputGate, TurnsAwayTopicsOfNoWorkersName) {
  for (const char* topic : {"weft/job:1//ctl", "weft/job:1/.x/ctl", "weft/job:1/a b/ctl"}) {
    const auto turned = Turned(topic, {HeaderOf("w1"), net::Heartbeat{}});
    CHECK(turned && turned->refusal.reason == Reason::kWrongIdentity && turned->worker.empty());
  }
}

TEST(InputGate, TurnsAwayWhatTheBrokerHadKept) {
  const auto turned =
      Turned("weft/job:1/w1/push", net::Encode({HeaderOf("w1"), SomeSegment()}).bytes(), true);
  CHECK(turned && turned->refusal.reason == Reason::kRetained && turned->worker == "w1");
}

TEST(InputGate, LooksAtTheSizeBeforeAnythingElse) {
  CHECK(Turned("weft/job:1/w1/ctl", std::vector<std::byte>(401))->refusal.reason ==
        Reason::kTooLarge);
  CHECK(Turned("weft/job:1/w1/ctl", std::vector<std::byte>(400))->refusal.reason ==
        Reason::kMalformed);
  CHECK(Turned("weft/job:1/w1/ctl", std::vector<std::byte>())->refusal.reason ==
        Reason::kMalformed);
}

TEST(InputGate, TurnsAwayWhoSpeaksInAnothersName) {
  const auto turned = Turned("weft/job:1/w1/push", {HeaderOf("w2"), SomeSegment()});
  CHECK(turned && turned->refusal.reason == Reason::kWrongIdentity);
  CHECK(turned->worker == "w1" && turned->sequence == 5);
  CHECK(turned->header && turned->header->incarnation == 9);
  STRCMP_CONTAINS("'w2'", turned->refusal.detail.c_str());
  STRCMP_CONTAINS("'w1'", turned->refusal.detail.c_str());
}

TEST(InputGate, TurnsAwayWhatIsForAnotherJobOrServer) {
  const auto wrong = [](auto change) {
    net::Header header = HeaderOf("w1");
    change(header);
    const auto turned = Turned("weft/job:1/w1/ctl", {header, net::Heartbeat{}});
    return turned && turned->refusal.reason == Reason::kWrongJob && turned->worker == "w1";
  };
  CHECK(wrong([](net::Header& h) { h.job = "other"; }));
  CHECK(wrong([](net::Header& h) { h.shard = 2; }));
  CHECK(wrong([](net::Header& h) { h.shards = 2; }));
}

TEST(InputGate, TurnsAwayWhatIsNotForAWorkerToSayThere) {
  const auto bad_field = [](const std::string& lane, net::Body body) {
    const auto turned = Turned("weft/job:1/w1/" + lane, {HeaderOf("w1"), std::move(body)});
    return turned && turned->refusal.reason == Reason::kBadField;
  };
  CHECK(bad_field("ctl", SomeSegment()));
  CHECK(bad_field("telemetry", SomeSegment()));
  CHECK(bad_field("push", net::Heartbeat{}));
  CHECK(bad_field("ctl", net::Telemetry{}));
  CHECK(bad_field("push", net::Hello{.batch = 1}));
  CHECK(bad_field("ctl", net::Refuse{{Reason::kNorm, ""}}));
  net::Segment segment = SomeSegment();
  segment.kind = net::SegmentKind::kParameters;
  CHECK(bad_field("push", segment));
  segment = SomeSegment();
  segment.sequence = 0;
  CHECK(bad_field("push", segment));
}

TEST(InputGate, TurnsAwayDataThatDoNotFitTheirOwnChecksum) {
  std::vector<std::byte> bytes = net::WithDamagedData(net::Encode({HeaderOf("w1"), SomeSegment()}));
  auto turned = Turned("weft/job:1/w1/push", bytes);
  CHECK(turned && turned->refusal.reason == Reason::kBadChecksum);
  CHECK_EQUAL(0u, turned->sequence);  // nothing in it can be believed
  CHECK(net::Seal(bytes));            // whole again, as one who forges it would make it
  turned = Turned("weft/job:1/w1/push", bytes);
  CHECK(turned && turned->refusal.reason == Reason::kBadChecksum);
  CHECK_EQUAL(5u, turned->sequence);
}

}  // namespace weft::ps
