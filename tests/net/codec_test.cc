// SPDX-License-Identifier: Apache-2.0
// Messages to bytes and back, and what becomes of bytes that are no message. Faults F20, F21, F34.
#include "net/codec/codec.h"

#include <flatbuffers/flatbuffers.h>
#include <weft_generated.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "core/rng.h"
#include "net/payload.h"
#include "tests/net/sample_messages.h"
#include "tests/net/seal.h"
#include "tests/places.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

using Bytes = std::vector<std::byte>;

Bytes Copy(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

// Decodes a copy that lies as received messages do.
std::variant<Message, Refusal> DecodeCopy(std::span<const std::byte> bytes, Payload& keep) {
  keep = Payload::CopyOf(bytes);
  return Decode(keep.bytes());
}

Reason ReasonOf(std::span<const std::byte> bytes) {
  Payload keep;
  const auto decoded = DecodeCopy(bytes, keep);
  const auto* refusal = std::get_if<Refusal>(&decoded);
  return refusal == nullptr ? Reason{} : refusal->reason;
}

void CheckSame(const Sample& sample, std::span<const std::byte> bytes) {
  Payload keep;
  const auto decoded = DecodeCopy(bytes, keep);
  if (const auto* refusal = std::get_if<Refusal>(&decoded)) {
    FAIL((sample.kind + ": " + refusal->detail).c_str());
  }
  if (!Same(sample.message, std::get<Message>(decoded))) {
    FAIL((sample.kind + " came back as another").c_str());
  }
}

// Refused as BAD_FIELD, and the sentence begins with the field.
void CheckBadField(std::span<const std::byte> bytes, const std::string& field) {
  Payload keep;
  const auto decoded = DecodeCopy(bytes, keep);
  const auto* refusal = std::get_if<Refusal>(&decoded);
  if (refusal == nullptr) FAIL((field + ": nonsense was let through").c_str());
  if (refusal->reason != Reason::kBadField || !refusal->detail.starts_with(field + " ")) {
    FAIL((field + ": " + std::string(Name(refusal->reason)) + " " + refusal->detail).c_str());
  }
}

void CheckBadField(const Message& message, const std::string& field) {
  CheckBadField(Encode(message).bytes(), field);
}

template <typename Kind>
Kind Taken() {
  for (const Sample& sample : SampleMessages()) {
    if (const auto* body = std::get_if<Kind>(&sample.message.body)) return *body;
  }
  return {};
}

template <typename Kind, typename Change>
Message Changed(Change change) {
  Message message{.header = SampleMessages().front().message.header, .body = Taken<Kind>()};
  change(std::get<Kind>(message.body));
  return message;
}

template <typename Change>
Message ChangedHeader(Change change) {
  Message message{.header = SampleMessages().front().message.header, .body = Heartbeat{}};
  change(message.header);
  return message;
}

// A message with a body made by hand, sealed.
template <typename AddBody>
Bytes ByHand(wire::Body type, AddBody add_body) {
  flatbuffers::FlatBufferBuilder builder;
  const flatbuffers::Offset<void> body = add_body(builder);
  const auto job = builder.CreateString("job");
  const auto worker = builder.CreateString("w1");
  builder.Finish(wire::CreateMessage(builder, kProtocolVersion, job, 0, 1, 1, 0, worker, 1, type,
                                     body, /*check=*/0),
                 wire::MessageIdentifier());
  Bytes bytes = Copy(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  CHECK(Seal(bytes));
  return bytes;
}

std::string GoldenPath(const std::string& kind) {
  return tests::TestsFolder() + "/net/golden/v1/" + kind + ".bin";
}

Bytes ReadGolden(const Sample& sample) {
  const std::string path = GoldenPath(sample.kind);
  if (std::getenv("WEFT_WRITE_GOLDEN") != nullptr) {
    const Payload payload = Encode(sample.message);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(payload.bytes().data()),
              static_cast<std::streamsize>(payload.size()));
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.empty()) FAIL(("cannot read " + path).c_str());
  return Copy(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

TEST_GROUP(Codec){};

TEST(Codec, EveryKindSurvivesWithAllItsFields) {
  for (const Sample& sample : SampleMessages()) {
    CheckSame(sample, Encode(sample.message).bytes());
  }
  CHECK_EQUAL(std::variant_size_v<Body>, SampleMessages().size());
}

TEST(Codec, EmptyTextsAndListsSurvive) {
  const Header header = {.job = "j", .worker = "w"};
  const Message empty[] = {{header, Hello{.batch = 1, .start_over = false}},
                           {header, Plan{}},
                           {header, Ack{}},
                           {header, Nack{.refusal = {Reason::kTooLarge, ""}}},
                           {header, Goodbye{}},
                           {header, Telemetry{.loss = std::numeric_limits<double>::quiet_NaN()}}};
  for (const Message& message : empty) CheckSame({"empty", message}, Encode(message).bytes());
}

TEST(Codec, DataOfASegmentLieAlignedInAnAlignedPayload) {
  Rng rng(5);
  std::vector<float> floats(1000, 1.0f);
  for (size_t count = 1; count < floats.size(); count += 37) {
    Message message = Changed<Segment>([&](Segment& s) {
      s.data = std::as_bytes(std::span(floats).first(count));
      s.total = 1 << 20;
    });
    message.header.worker = std::string(static_cast<size_t>(rng.Between(1, 64)), 'w');
    const Payload payload = Payload::CopyOf(Encode(message).bytes());
    const auto decoded = Decode(payload.bytes());
    const auto& segment = std::get<Segment>(std::get<Message>(decoded).body);
    CHECK_EQUAL(0u, reinterpret_cast<uintptr_t>(segment.data.data()) % 32);
    CHECK(ChecksumHolds(segment));
  }
}

TEST(Codec, TheEnvelopeOfASegmentIsBelowItsLimit) {
  std::vector<float> floats(1 << 16, 1.0f);
  for (size_t count = (1 << 16) - 16; count <= floats.size(); ++count) {
    Message message = Changed<Segment>(
        [&](Segment& s) { s.data = std::as_bytes(std::span(floats).first(count)); });
    message.header.job = std::string(64, 'j');
    message.header.worker = std::string(64, 'w');
    const Payload payload = Encode(message);
    CHECK(payload.size() <= count * sizeof(float) + static_cast<size_t>(kEnvelopeBytes));
  }
}

TEST(Codec, DataThatChangedAfterTheyWereSummedDoNotFitTheirChecksum) {
  const Payload payload = Encode(Changed<Segment>([](Segment&) {}));
  const auto decoded = Decode(payload.bytes());
  Segment segment = std::get<Segment>(std::get<Message>(decoded).body);
  CHECK(ChecksumHolds(segment));
  for (size_t i = 0; i < segment.data.size(); ++i) {
    Bytes data = Copy(segment.data);
    data[i] ^= std::byte{0x10};
    segment.data = data;
    CHECK_FALSE(ChecksumHolds(segment));
    segment.data = std::get<Segment>(std::get<Message>(decoded).body).data;
  }
}

// The checksum of the whole message is over every byte but its own, so nothing is ever read as
// something else than was said.
TEST(Codec, EveryChangeOfOneByteIsRefused) {
  constexpr int kChanges[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF, 0x5A, 0x03};
  for (const Sample& sample : SampleMessages()) {
    Bytes bytes = Copy(Encode(sample.message).bytes());
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int change : kChanges) {
        bytes[at] ^= static_cast<std::byte>(change);
        const Reason reason = ReasonOf(bytes);
        if (reason != Reason::kMalformed && reason != Reason::kBadChecksum) {
          FAIL((sample.kind + " with byte " + std::to_string(at) +
                " changed: " + std::string(Name(reason)))
                   .c_str());
        }
        bytes[at] ^= static_cast<std::byte>(change);
      }
    }
    CheckSame(sample, bytes);
  }
}

TEST(Codec, EveryTruncationAndEveryTailIsRefused) {
  for (const Sample& sample : SampleMessages()) {
    Bytes bytes = Copy(Encode(sample.message).bytes());
    for (size_t length = 0; length < bytes.size(); ++length) {
      const Reason reason = ReasonOf(std::span(bytes).first(length));
      CHECK(reason == Reason::kMalformed || reason == Reason::kBadChecksum);
    }
    bytes.push_back(std::byte{0});
    CHECK(ReasonOf(bytes) == Reason::kBadChecksum);
  }
}

TEST(Codec, NoiseIsMalformed) {
  Rng rng(11);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes(static_cast<size_t>(rng.Between(0, 300)));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.Next());
    if (rng.Between(0, 1) == 0 && bytes.size() >= 8) {
      std::memcpy(bytes.data() + 4, "WEFT", 4);
      std::memset(bytes.data() + 1, 0, 3);
    }
    CHECK(ReasonOf(bytes) == Reason::kMalformed);
  }
}

TEST(Codec, AnotherVersionIsRefusedButItsHelloIsRead) {
  for (Sample sample : SampleMessages()) {
    for (const uint16_t version : {0, 2, 65535}) {
      sample.message.header.version = version;
      const Payload payload = Encode(sample.message);
      if (sample.kind == "hello") {
        CheckSame(sample, payload.bytes());
      } else {
        CHECK(ReasonOf(payload.bytes()) == Reason::kUnsupportedVersion);
      }
    }
  }
}

TEST_GROUP(CodecNonsense){};

TEST(CodecNonsense, HeadersAreRefusedByField) {
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a+"),
                                  std::string(".hidden"), std::string("a b"), std::string(65, 'x'),
                                  std::string("na\0me", 5), std::string(2000, 'x')}) {
    CheckBadField(ChangedHeader([&](Header& h) { h.job = name; }), "job");
    CheckBadField(ChangedHeader([&](Header& h) { h.worker = name; }), "worker");
  }
  CheckBadField(ChangedHeader([](Header& h) { h.shard = h.shards; }), "shard");
  CheckBadField(ChangedHeader([](Header& h) { h.shards = 0; }), "shard");
  CheckBadField(ChangedHeader([](Header& h) { h.round = -1; }), "round");
  CheckBadField(ChangedHeader([](Header& h) { h.round = INT64_MIN; }), "round");
}

TEST(CodecNonsense, SegmentsAreRefusedByField) {
  const auto refused = [](const char* field, auto change) {
    CheckBadField(Changed<Segment>(change), field);
  };
  refused("first_unit", [](Segment& s) { s.first_unit = s.last_unit + 1; });
  refused("data", [](Segment& s) { s.data = {}; });
  refused("offset", [](Segment& s) { s.data = s.data.first(5); });
  refused("offset", [](Segment& s) { s.offset = 2; });
  refused("offset", [](Segment& s) { s.offset = s.total; });
  refused("offset", [](Segment& s) { s.offset = s.total - 4; });
  refused("offset", [](Segment& s) { s.offset = s.total + 4; });
  refused("offset", [](Segment& s) { s.offset = UINT64_MAX - 3; });
  refused("offset", [](Segment& s) { s.total = 0; });
  refused("kind", [](Segment& s) { s.kind = static_cast<SegmentKind>(0); });
  refused("kind", [](Segment& s) { s.kind = static_cast<SegmentKind>(3); });
  const auto by_hand = [](wire::DType dtype) {
    return ByHand(wire::Body::Segment, [&](flatbuffers::FlatBufferBuilder& b) {
      const std::vector<uint8_t> data(8, 0);
      return wire::CreateSegmentDirect(b, wire::SegmentKind::Gradients, dtype, 1, 1, 0, 0, 8, 0, 0,
                                       &data)
          .Union();
    });
  };
  CHECK(ReasonOf(by_hand(wire::DType::Float32)) == Reason{});
  CheckBadField(by_hand(wire::DType::Unset), "dtype");
  CheckBadField(by_hand(static_cast<wire::DType>(7)), "dtype");
}

TEST(CodecNonsense, HashesOfAnotherLengthAreRefused) {
  for (const size_t length : {0u, 1u, 31u, 33u, 64u}) {
    CheckBadField(ByHand(wire::Body::Hello,
                         [&](flatbuffers::FlatBufferBuilder& b) {
                           const std::vector<uint8_t> hash(length, 1);
                           return wire::CreateHelloDirect(b, 1, 1, &hash, 8, "x").Union();
                         }),
                  "model_hash");
  }
}

TEST(CodecNonsense, WhatIsMissingIsRefused) {
  CheckBadField(ByHand(wire::Body::Hello,
                       [](flatbuffers::FlatBufferBuilder& b) {
                         return wire::CreateHello(b, 1, 1, 0, 8).Union();
                       }),
                "model_hash");
  CheckBadField(
      ByHand(wire::Body::Plan,
             [](flatbuffers::FlatBufferBuilder& b) { return wire::CreatePlan(b, 1).Union(); }),
      "ends");
  CheckBadField(
      ByHand(wire::Body::Ack,
             [](flatbuffers::FlatBufferBuilder& b) { return wire::CreateAck(b).Union(); }),
      "sequences");
  CheckBadField(ByHand(wire::Body::Segment,
                       [](flatbuffers::FlatBufferBuilder& b) {
                         return wire::CreateSegment(b, wire::SegmentKind::Gradients,
                                                    wire::DType::Float32)
                             .Union();
                       }),
                "data");
  CheckBadField(
      ByHand(wire::Body::Welcome,
             [](flatbuffers::FlatBufferBuilder& b) { return wire::CreateWelcome(b).Union(); }),
      "model");
  CheckBadField(ByHand(wire::Body::NONE,
                       [](flatbuffers::FlatBufferBuilder&) { return flatbuffers::Offset<void>(); }),
                "body");
}

// The verifier lets a union through that has a type and nothing else.
TEST(CodecNonsense, KindsWithoutABodyAreRefused) {
  for (int type = 0; type <= 12; ++type) {
    CheckBadField(
        ByHand(static_cast<wire::Body>(type),
               [](flatbuffers::FlatBufferBuilder&) { return flatbuffers::Offset<void>(); }),
        "body");
  }
}

// A type the reader does not know is not verified, so nothing of it may be looked at.
TEST(CodecNonsense, KindsOfALaterVersionAreRefused) {
  CheckBadField(
      ByHand(static_cast<wire::Body>(99),
             [](flatbuffers::FlatBufferBuilder& b) { return wire::CreateHeartbeat(b).Union(); }),
      "body");
}

TEST(CodecNonsense, HellosPlansAndVerdictsAreRefusedByField) {
  CheckBadField(Changed<Hello>([](Hello& m) { m.least_version = 4; }), "least_version");
  CheckBadField(Changed<Hello>([](Hello& m) { m.batch = 0; }), "batch");
  CheckBadField(Changed<Hello>([](Hello& m) { m.batch = 65537; }), "batch");
  CheckBadField(Changed<Hello>([](Hello& m) { m.software = std::string(1025, 's'); }), "software");
  CheckBadField(Changed<Plan>([](Plan& m) { m.ends = {1, 3, 2}; }), "ends");
  CheckBadField(Changed<Plan>([](Plan& m) { m.ends = {1, 1}; }), "ends");
  CheckBadField(Changed<Plan>([](Plan& m) { m.ends = {0, 1}; }), "ends");
  CheckBadField(Changed<Plan>([](Plan& m) { m.ends = {1, uint64_t{kMaxFloats} + 1}; }), "ends");
  CheckBadField(Changed<Ack>([](Ack& m) { m.arrived_ns.pop_back(); }), "arrived_ns");
  for (const int reason : {0, kReasons, 65535}) {
    const Refusal unknown{static_cast<Reason>(reason), ""};
    CheckBadField(Changed<Nack>([&](Nack& m) { m.refusal = unknown; }), "reason");
    CheckBadField(Changed<Refuse>([&](Refuse& m) { m.refusal = unknown; }), "reason");
  }
  CheckBadField(Changed<Nack>([](Nack& m) { m.refusal.detail = std::string(1025, 'd'); }),
                "detail");
  CheckBadField(Changed<Goodbye>([](Goodbye& m) { m.kind = static_cast<GoodbyeKind>(0); }), "kind");
  CheckBadField(Changed<Goodbye>([](Goodbye& m) { m.kind = static_cast<GoodbyeKind>(4); }), "kind");
  CheckBadField(Changed<Ack>([](Ack& m) { m.sequences.assign((1 << 16) + 1, 1); }), "sequences");
}

TEST(CodecNonsense, WelcomesAreRefusedByField) {
  const auto refused = [](const char* field, auto change) {
    CheckBadField(Changed<Welcome>(change), field);
  };
  refused("model", [](Welcome& m) { m.model = "no/name"; });
  refused("first_round", [](Welcome& m) { m.first_round = -1; });
  refused("rounds", [](Welcome& m) { m.rounds = -1; });
  refused("last_unit", [](Welcome& m) { m.last_unit = 3; });
  refused("last_unit", [](Welcome& m) { m.first_unit = 3; });
  refused("last_unit", [](Welcome& m) { m.units.clear(); });
  refused("units", [](Welcome& m) { m.units[1].parameters = kMaxFloats + 1; });
  refused("units", [](Welcome& m) { m.units[1].statistics = -1; });
  refused("units", [](Welcome& m) { m.units[1].name = std::string(1025, 'n'); });
  refused("label_smoothing", [](Welcome& m) { m.label_smoothing = -0.1; });
  refused("label_smoothing", [](Welcome& m) { m.label_smoothing = 1.1; });
  refused("label_smoothing",
          [](Welcome& m) { m.label_smoothing = std::numeric_limits<double>::quiet_NaN(); });
  refused("heartbeat_ms", [](Welcome& m) { m.heartbeat_ms = 0; });
  refused("window_bytes", [](Welcome& m) { m.window_bytes = 0; });
  refused("segment_bytes", [](Welcome& m) { m.segment_bytes = 3; });
}

// One file for every kind and every version that was ever released: written once, with
// WEFT_WRITE_GOLDEN=1, and read for ever.
TEST_GROUP(Golden){};

TEST(Golden, EveryMessageOfVersion1IsStillRead) {
  for (const Sample& sample : SampleMessages()) CheckSame(sample, ReadGolden(sample));
}

TEST(Golden, WhatIsWrittenTodayReadsAsTheGoldenFilesDo) {
  for (const Sample& sample : SampleMessages()) {
    Payload keep;
    const auto golden = DecodeCopy(ReadGolden(sample), keep);
    const auto* message = std::get_if<Message>(&golden);
    if (message == nullptr) FAIL((sample.kind + " is not read").c_str());
    CheckSame({sample.kind, *message}, Encode(*message).bytes());
  }
}

TEST(Golden, EveryChangeOfOneByteOfAGoldenFileIsRefused) {
  for (const Sample& sample : SampleMessages()) {
    Bytes bytes = ReadGolden(sample);
    for (std::byte& b : bytes) {
      b ^= std::byte{0x21};
      const Reason reason = ReasonOf(bytes);
      CHECK(reason == Reason::kMalformed || reason == Reason::kBadChecksum);
      b ^= std::byte{0x21};
    }
  }
}

}  // namespace weft::net
