// SPDX-License-Identifier: Apache-2.0
// Every reason for which a server refuses, reached by a message: the sender is told which and of
// what, the model does not change, and an honest worker's round is not disturbed. Faults F20-F29.
#include <bit>
#include <functional>
#include <limits>
#include <string>

#include "net/codec/codec.h"
#include "tests/net/seal.h"
#include "tests/ps/server_driver.h"

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

using net::Lane;
using net::Reason;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

ServerSetting TwoWorkers() {
  ServerSetting setting = ServerDriver::Usual();
  setting.workers = 2;
  setting.quorum = 1;
  return setting;
}

// Round 0 with the gradients of "good" alone.
const std::vector<float>& GoodAlone() {
  static const std::vector<float> values = [] {
    ServerDriver driver(ServerDriver::Usual());
    driver.Join("good");
    driver.Push("good", 0);
    return driver.values();
  }();
  return values;
}

net::Segment FirstOf(ServerDriver& driver, const std::vector<float>& floats) {
  net::Segment segment = driver.Segments("evil", floats)[0];
  segment.sequence = 77;
  return segment;
}

// "good" has sent half of its round when "evil" does `what`, and the other half after.
void CheckRefused(Reason reason, uint64_t sequence, const std::function<void(ServerDriver&)>& what,
                  const ServerSetting& setting = TwoWorkers()) {
  ServerDriver driver(setting);
  driver.Join("good");
  driver.Join("evil");
  const std::vector<float> floats = ServerDriver::Gradients("good", 0);
  const auto segments = driver.Segments("good", floats);
  CHECK_EQUAL(2u, segments.size());
  driver.PushSegment("good", 0, segments[0]);
  const std::vector<float> before = driver.values();
  driver.ForgetHeard();
  what(driver);
  const std::string name(net::Name(reason));
  const auto nacks = driver.HeardOf<net::Nack>("evil");
  if (nacks.size() != 1) FAIL((name + ": " + std::to_string(nacks.size()) + " answers").c_str());
  if (nacks[0].refusal.reason != reason) {
    FAIL((name + ": " + std::string(net::Name(nacks[0].refusal.reason)) + ", " +
          nacks[0].refusal.detail)
             .c_str());
  }
  CHECK_EQUAL(sequence, nacks[0].sequence);
  CHECK_EQUAL(sequence != 0, nacks[0].ticket != 0);
  CHECK_FALSE(nacks[0].refusal.detail.empty());
  CHECK(driver.HeardOf<net::Nack>("good").empty());
  CHECK(SameBits(before, driver.values()));
  CHECK_EQUAL(0, driver.server().round());
  CHECK_EQUAL(1, driver.server().status().refused);
  driver.Leave("evil");
  driver.PushSegment("good", 0, segments[1]);
  CHECK_EQUAL(1, driver.server().round());
  if (!SameBits(GoodAlone(), driver.values())) FAIL((name + ": it disturbed the round").c_str());
}

void CheckSegmentRefused(Reason reason, const std::function<void(net::Segment&)>& change) {
  CheckRefused(reason, 77, [&](ServerDriver& driver) {
    const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
    net::Segment segment = FirstOf(driver, floats);
    change(segment);
    driver.PushSegment("evil", 0, segment);
  });
}

void CheckHelloRefused(const net::Hello& hello, Reason reason, std::vector<std::string> words) {
  ServerDriver driver;
  net::Header header = driver.HeaderOf("w1", 0);
  header.version = hello.most_version;
  driver.Say("w1", Lane::kControl, {header, hello});
  const auto refusals = driver.HeardOf<net::Refuse>("w1");
  CHECK_EQUAL(1u, refusals.size());
  CHECK(refusals[0].refusal.reason == reason);
  for (const std::string& word : words) {
    STRCMP_CONTAINS(word.c_str(), refusals[0].refusal.detail.c_str());
  }
  CHECK(driver.server().status().workers.empty());
}

}  // namespace

TEST_GROUP(ServerRefusals){};

TEST(ServerRefusals, MessagesLargerThanTheJobAllows) {
  CheckRefused(Reason::kTooLarge, 0, [](ServerDriver& driver) {
    driver.SayBytes("weft/job/evil/push",
                    std::vector<std::byte>((net::kPlanEnds + 3) * 8 + 1024 + 1));
  });
}

TEST(ServerRefusals, DataLargerThanASegment) {
  CheckRefused(Reason::kTooLarge, 77, [](ServerDriver& driver) {
    const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
    driver.PushSegment("evil", 0, driver.SegmentOf("evil", 77, floats, 0, 2, 0, 17));
  });
}

TEST(ServerRefusals, WhatIsNoMessage) {
  CheckRefused(Reason::kMalformed, 0, [](ServerDriver& driver) {
    driver.SayBytes("weft/job/evil/push", std::vector<std::byte>(100, std::byte{3}));
  });
}

TEST(ServerRefusals, MessagesOfAnotherVersion) {
  CheckRefused(Reason::kUnsupportedVersion, 0, [](ServerDriver& driver) {
    net::Header header = driver.HeaderOf("evil", 0);
    header.version = 2;
    driver.Say("evil", Lane::kControl, {header, net::Heartbeat{}});
  });
}

// F34: both ranges are in the answer, and it can be read by who speaks neither.
TEST(ServerRefusals, WorkersOfAnotherVersionByBothVersions) {
  CheckHelloRefused(
      {.least_version = 2, .most_version = 3, .model_hash = ServerDriver::Hash(), .batch = 8},
      Reason::kUnsupportedVersion, {"2 to 3", "server 1"});
  ServerDriver driver;  // one that speaks ours and later ones is let in
  driver.Say(
      "w1", Lane::kControl,
      {driver.HeaderOf("w1", 0),
       net::Hello{
           .least_version = 1, .most_version = 9, .model_hash = ServerDriver::Hash(), .batch = 8}});
  CHECK_EQUAL(1u, driver.HeardOf<net::Welcome>("w1").size());
}

// F22: both hashes are in the answer.
TEST(ServerRefusals, WorkersOfAnotherModelByBothHashes) {
  net::ModelHash other = {};
  other[31] = std::byte{0x5C};
  CheckHelloRefused({.model_hash = other, .batch = 8}, Reason::kWrongModel, {"00005c", "ab0000"});
}

// F29
TEST(ServerRefusals, WhoSpeaksInAnothersName) {
  CheckRefused(Reason::kWrongIdentity, 77, [](ServerDriver& driver) {
    const std::vector<float> floats(19, 1000.0f);
    driver.Say("evil", Lane::kPush, {driver.HeaderOf("good", 0), FirstOf(driver, floats)});
  });
}

TEST(ServerRefusals, WhatIsForAnotherJobOrServer) {
  for (int i = 0; i < 3; ++i) {
    CheckRefused(Reason::kWrongJob, 77, [i](ServerDriver& driver) {
      const std::vector<float> floats(19, 1000.0f);
      net::Header header = driver.HeaderOf("evil", 0);
      if (i == 0) header.job = "other";
      if (i == 1) header.shards = 2;
      if (i == 2) header.shard = 1, header.shards = 2;
      driver.Say("evil", Lane::kPush, {header, FirstOf(driver, floats)});
    });
  }
}

TEST(ServerRefusals, OtherTopicsWithoutAWord) {
  ServerDriver driver;
  driver.ForgetHeard();
  driver.SayBytes("weft/other/evil/ctl", std::vector<std::byte>(10));
  CHECK(driver.Heard("evil").empty());
  CHECK_EQUAL(1, driver.server().status().refused);
}

// F21: of what cannot be believed no sequence is repeated.
TEST(ServerRefusals, FieldsThatMakeNoSense) {
  CheckRefused(Reason::kBadField, 0, [](ServerDriver& driver) {
    const std::vector<float> floats(19, 1.0f);
    net::Segment segment = FirstOf(driver, floats);
    segment.offset = segment.total;
    driver.PushSegment("evil", 0, segment);
  });
  CheckSegmentRefused(Reason::kBadField,
                      [](net::Segment& s) { s.kind = net::SegmentKind::kParameters; });
  CheckRefused(Reason::kBadField, 0, [](ServerDriver& driver) {
    driver.Say("evil", Lane::kPush, {driver.HeaderOf("evil", 0), net::Heartbeat{}});
  });
}

// F23
TEST(ServerRefusals, UnitsAndSizesThatAreNotTheModels) {
  CheckSegmentRefused(Reason::kShapeMismatch, [](net::Segment& s) { s.total += 4; });
  CheckSegmentRefused(Reason::kShapeMismatch, [](net::Segment& s) { s.total -= 4; });
  CheckSegmentRefused(Reason::kShapeMismatch, [](net::Segment& s) { s.total = UINT64_MAX - 3; });
  CheckSegmentRefused(Reason::kShapeMismatch, [](net::Segment& s) { s.last_unit = 3; });
  CheckSegmentRefused(Reason::kShapeMismatch, [](net::Segment& s) { s.last_unit = UINT32_MAX; });
  CheckSegmentRefused(Reason::kShapeMismatch,
                      [](net::Segment& s) { s.first_unit = s.last_unit = 0x80000000; });
  CheckSegmentRefused(Reason::kShapeMismatch, [](net::Segment& s) { s.last_unit = 1; });
}

TEST(ServerRefusals, DataThatDoNotFitTheirChecksum) {
  CheckRefused(Reason::kBadChecksum, 77, [](ServerDriver& driver) {
    const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
    std::vector<std::byte> bytes =
        net::WithDamagedData(net::Encode({driver.HeaderOf("evil", 0), FirstOf(driver, floats)}));
    CHECK(net::Seal(bytes));
    driver.SayBytes("weft/job/evil/push", bytes);
  });
  CheckRefused(Reason::kBadChecksum, 0, [](ServerDriver& driver) {
    const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
    std::vector<std::byte> bytes =
        net::WithDamagedData(net::Encode({driver.HeaderOf("evil", 0), FirstOf(driver, floats)}));
    driver.SayBytes("weft/job/evil/push", bytes);
  });
}

// F24: at the first and last float of everything that has a first and a last: the model, its
// units, their parameters and statistics, and segments.
TEST(ServerRefusals, NumbersThatAreNotFiniteWhereverTheyAre) {
  for (const float bad : {kNaN, -kNaN, kInf, -kInf, std::bit_cast<float>(0x7F800001u)}) {
    for (const size_t place : {0u, 4u, 5u, 11u, 12u, 14u, 15u, 16u, 18u}) {
      CheckRefused(Reason::kNonFinite, place < 16 ? 1 : 2, [&](ServerDriver& driver) {
        std::vector<float> floats = ServerDriver::Gradients("evil", 0);
        floats[place] = bad;
        const auto segments = driver.Segments("evil", floats);
        driver.PushSegment("evil", 0, segments[place < 16 ? 0 : 1]);
      });
    }
  }
}

TEST(ServerRefusals, TheRestOfARoundThatHadANumberThatIsNotFinite) {
  CheckRefused(Reason::kNonFinite, 2, [&](ServerDriver& driver) {
    std::vector<float> floats = ServerDriver::Gradients("evil", 0);
    floats[18] = kNaN;
    const auto segments = driver.Segments("evil", floats);
    driver.PushSegment("evil", 0, segments[0]);  // is taken, and then forgotten
    driver.PushSegment("evil", 0, segments[1]);
  });
}

// F25: the norm is of all parameters' gradients together, whatever the segments.
TEST(ServerRefusals, GradientsWithANormBeyondTheBound) {
  ServerSetting setting = TwoWorkers();
  setting.max_norm = 4;
  for (const float value : {1e30f, std::numeric_limits<float>::max(), 1.01f}) {
    CheckRefused(
        Reason::kNorm, value < 2 ? 2 : 1,
        [&](ServerDriver& driver) {
          const std::vector<float> floats(19, value);  // 16 of them are gradients
          for (const auto& segment : driver.Segments("evil", floats)) {
            driver.PushSegment("evil", 0, segment);
            if (value > 2) return;
          }
        },
        setting);
  }
}

TEST(ServerRefusals, NoGradientsWithANormWithinTheBoundHoweverTheyAreCut) {
  ServerSetting setting = ServerDriver::Usual();
  setting.max_norm = 4;
  ServerDriver driver(setting);
  driver.Join("w1");
  std::vector<float> floats(19, 0.99f);
  for (const size_t statistic : {12u, 13u, 14u}) floats[statistic] = 1000.0f;  // no gradients
  const std::pair<int64_t, int64_t> parts[] = {{0, 10}, {5, 16}, {3, 12}, {15, 19}};
  uint64_t sequence = 0;
  for (const auto& [begin, end] : parts) {
    driver.PushSegment("w1", 0, driver.SegmentOf("w1", ++sequence, floats, 0, 2, begin, end));
  }
  CHECK(driver.HeardOf<net::Nack>("w1").empty());
  CHECK_EQUAL(1, driver.server().round());
}

TEST(ServerRefusals, SegmentsOfARoundThatIsNotOpenYet) {
  for (const int64_t round : {int64_t{1}, int64_t{5}, INT64_MAX}) {
    CheckRefused(Reason::kFutureRound, 77, [&](ServerDriver& driver) {
      const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
      driver.PushSegment("evil", round, FirstOf(driver, floats));
    });
  }
}

TEST(ServerRefusals, PlansForARoundThatCannotBeHad) {
  CheckRefused(Reason::kStaleRound, 0, [](ServerDriver& driver) {
    driver.Hello("evil", 1);
    const uint64_t ticket = driver.HeardOf<net::Welcome>("evil").back().ticket;
    driver.Say("evil", Lane::kControl,
               {driver.HeaderOf("evil", INT64_MAX), net::Plan{.ticket = ticket}});
  });
}

// F27
TEST(ServerRefusals, WhatWasMeantForAnEarlierStartOfTheServer) {
  for (const uint64_t epoch : {0u, 2u}) {
    CheckRefused(Reason::kStaleEpoch, 77, [&](ServerDriver& driver) {
      const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
      net::Header header = driver.HeaderOf("evil", 0);
      header.epoch = epoch;
      driver.Say("evil", Lane::kPush, {header, FirstOf(driver, floats)});
    });
  }
}

TEST(ServerRefusals, WhoHasNotSaidHello) {
  ServerDriver driver;
  const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
  driver.PushSegment("evil", 0, FirstOf(driver, floats));
  auto nacks = driver.HeardOf<net::Nack>("evil");
  CHECK_EQUAL(1u, nacks.size());
  CHECK(nacks[0].refusal.reason == Reason::kUnknownWorker && nacks[0].sequence == 77);
  driver.Say("evil", Lane::kControl, {driver.HeaderOf("evil", 0), net::Heartbeat{}});
  CHECK(driver.HeardOf<net::Nack>("evil")[0].refusal.reason == Reason::kUnknownWorker);
  driver.Say("evil", Lane::kControl, {driver.HeaderOf("evil", 0), net::Plan{.ticket = 1}});
  CHECK(driver.HeardOf<net::Nack>("evil")[0].refusal.reason == Reason::kUnknownWorker);
}

TEST(ServerRefusals, AnEarlierStartOfAWorker) {
  CheckRefused(Reason::kSuperseded, 77, [](ServerDriver& driver) {
    const std::vector<float> floats(19, 100.0f);
    const net::Segment late = FirstOf(driver, floats);
    driver.Join("evil", 2);
    driver.ForgetHeard();
    driver.PushSegment("evil", 0, late, 1);
    driver.Leave("evil", 2);
  });
}

// So that who has joined after that one knows that it was said before.
TEST(ServerRefusals, AnEarlierStartHearsUnderWhichTicketTheLaterJoined) {
  ServerDriver driver;
  driver.Join("w1", 1);
  driver.Join("w1", 2);  // the second ticket
  driver.ForgetHeard();
  driver.Say("w1", Lane::kControl, {driver.HeaderOf("w1", 0, 1), net::Heartbeat{}});
  const auto nacks = driver.HeardOf<net::Nack>("w1");
  CHECK_EQUAL(1u, nacks.size());
  CHECK(nacks[0].refusal.reason == Reason::kSuperseded);
  CHECK_EQUAL(0u, nacks[0].sequence);
  CHECK_EQUAL(2u, nacks[0].ticket);
}

// F28
TEST(ServerRefusals, WhatTheBrokerHadKept) {
  CheckRefused(Reason::kRetained, 0, [](ServerDriver& driver) {
    const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
    driver.SayBytes("weft/job/evil/push",
                    net::Encode({driver.HeaderOf("evil", 0), FirstOf(driver, floats)}).bytes(),
                    true);
  });
}

TEST_GROUP(ServerQuarantine){};

// Ninety-nine offences are answered one by one; from the hundredth on nothing is listened to.
TEST(ServerQuarantine, AHundredOffencesEndAllTalk) {
  ServerDriver driver(TwoWorkers());
  driver.Join("good");
  driver.Join("evil");
  driver.ForgetHeard();
  const std::vector<std::byte> noise(50, std::byte{1});
  for (int i = 0; i < 99; ++i) driver.SayBytes("weft/job/evil/push", noise);
  CHECK_EQUAL(99u, driver.HeardOf<net::Nack>("evil").size());
  const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
  driver.PushSegment("evil", 0, FirstOf(driver, floats));
  CHECK_EQUAL(1u, driver.HeardOf<net::Ack>("evil").size());  // it may still mend its ways
  driver.SayBytes("weft/job/evil/push", noise);
  driver.ForgetHeard();
  driver.PushSegment("evil", 0, FirstOf(driver, floats));
  const auto nacks = driver.HeardOf<net::Nack>("evil");
  CHECK_EQUAL(1u, nacks.size());
  CHECK(nacks[0].refusal.reason == Reason::kQuarantined && nacks[0].sequence == 77);
  driver.Hello("evil", 2);
  const auto refusals = driver.HeardOf<net::Refuse>("evil");
  CHECK_EQUAL(1u, refusals.size());
  CHECK(refusals[0].refusal.reason == Reason::kQuarantined);
  CHECK_EQUAL(1, driver.log.Count("not listened to"));
  // The round does not wait for it, and what it had sent does not count.
  driver.Push("good", 0);
  CHECK_EQUAL(1, driver.server().round());
  CHECK(SameBits(GoodAlone(), driver.values()));
}

// F37: nothing is wrong with any of its messages but that there is no end to them.
TEST(ServerQuarantine, AFloodIsNotReadBeyondWhatARoundNeedsAndHoldsUpNobody) {
  ServerDriver driver(TwoWorkers());
  driver.Join("good");
  driver.Join("evil");
  driver.ForgetHeard();
  const std::vector<float> floats = ServerDriver::Gradients("evil", 0);
  const net::Segment segment = FirstOf(driver, floats);
  size_t answers = 0;
  size_t told = 0;
  constexpr size_t kFlood = 100'000;
  for (size_t i = 0; i < kFlood; ++i) {
    driver.PushSegment("evil", 0, segment);
    for (const net::Message& message : driver.Heard("evil")) {
      ++answers;
      const auto* nack = std::get_if<net::Nack>(&message.body);
      if (nack == nullptr) continue;
      CHECK(nack->refusal.reason == Reason::kOverBudget && nack->sequence == 0);
      ++told;
    }
  }
  CHECK_EQUAL(1u, told);
  CHECK(driver.ShutOut() == std::vector<std::string>{"evil"});
  CHECK_TRUE(answers < kFlood / 2);
  CHECK_EQUAL(1, driver.log.Count("worker 'evil' sends more than"));
  // It is as good as silent, so the round does not wait for it for ever.
  driver.Push("good", 0);
  CHECK_EQUAL(0, driver.server().round());
  for (int tenths = 0; tenths < 40; ++tenths) {
    driver.Pass(100 * kNsPerMs);
    driver.Say("good", Lane::kControl, {driver.HeaderOf("good", 0), net::Heartbeat{}});
    driver.PushSegment("evil", 0, segment);
  }
  CHECK_EQUAL(1, driver.server().round());
  CHECK(SameBits(GoodAlone(), driver.values()));
  // When it has calmed down it can come back.
  driver.Pass(10'000 * kNsPerMs);
  CHECK_EQUAL(1, driver.Join("evil", 2));
}

TEST(ServerQuarantine, AnInvitationFromBeforeIsWorthNothing) {
  ServerDriver driver(TwoWorkers());
  driver.Join("good");
  driver.Hello("evil");
  const uint64_t ticket = driver.HeardOf<net::Welcome>("evil")[0].ticket;
  const std::vector<std::byte> noise(50, std::byte{1});
  for (int i = 0; i < 100; ++i) driver.SayBytes("weft/job/evil/push", noise);
  driver.ForgetHeard();
  driver.Say("evil", Lane::kControl, {driver.HeaderOf("evil", 0), net::Plan{.ticket = ticket}});
  const auto nacks = driver.HeardOf<net::Nack>("evil");
  CHECK_EQUAL(1u, nacks.size());
  CHECK(nacks[0].refusal.reason == Reason::kQuarantined);
  CHECK_EQUAL(1u, driver.server().status().workers.size());
}

TEST(ServerQuarantine, HonestMishapsAreNoOffences) {
  ServerDriver driver;
  driver.Join("w1");
  const std::vector<float> floats = ServerDriver::Gradients("w1", 0);
  for (int i = 0; i < 150; ++i) {
    driver.PushSegment("w1", 3, driver.Segments("w1", floats)[0]);  // the future
    net::Header header = driver.HeaderOf("w1", 0);
    header.epoch = 7;
    driver.Say("w1", Lane::kControl, {header, net::Heartbeat{}});
    driver.SayBytes("weft/job/w1/push",  // damaged on its way
                    net::WithDamagedData(
                        net::Encode({driver.HeaderOf("w1", 0), driver.Segments("w1", floats)[0]})));
  }
  driver.Push("w1", 0);
  CHECK_EQUAL(1, driver.server().round());
}

TEST(ServerQuarantine, CountsAreKeptByReasonForPeople) {
  ServerDriver driver;
  driver.Join("w1");
  for (int i = 0; i < 3; ++i) driver.SayBytes("weft/job/w1/ctl", {});
  driver.Say("w1", Lane::kPush, {driver.HeaderOf("w1", 0), net::Heartbeat{}});
  const ServerStatus status = driver.server().status();
  CHECK_EQUAL(4, status.refused);
  CHECK_EQUAL(3, status.workers[0].refused[static_cast<size_t>(Reason::kMalformed)]);
  CHECK_EQUAL(1, status.workers[0].refused[static_cast<size_t>(Reason::kBadField)]);
}

}  // namespace weft::ps
