// SPDX-License-Identifier: Apache-2.0
#include <weft_generated.h>

#include <cstring>

#include "core/crc32c.h"
#include "net/codec/codec.h"
#include "net/codec/message_check.h"
#include "net/topics.h"

namespace weft::net {
namespace {

constexpr size_t kMaxText = 1024;          // of a sentence or a name
constexpr size_t kMaxSequences = 1 << 16;  // in one Ack
constexpr int kDepth = 8;                  // of tables in tables
constexpr int kTables = kMaxUnits + 8;     // in one message: a Welcome lists the units

constexpr size_t kCheckBytes = sizeof(uint32_t);

bool CheckHolds(std::span<const std::byte> verified, uint32_t check) {
  const std::optional<size_t> at = CheckPlace(verified);
  if (!at) return false;
  constexpr std::byte kZeros[kCheckBytes] = {};
  uint32_t crc = Crc32c(verified.first(*at));
  crc = Crc32c(kZeros, crc);
  return Crc32c(verified.subspan(*at + kCheckBytes), crc) == check;
}

// The verifier sees to the place of a vector's length, not of its numbers: those of eight bytes may
// lie where the processor does not read them at once.
template <typename T>
std::vector<T> Numbers(const flatbuffers::Vector<T>& vector) {
  std::vector<T> numbers(vector.size());
  if (!numbers.empty()) std::memcpy(numbers.data(), vector.Data(), numbers.size() * sizeof(T));
  for (T& number : numbers) number = flatbuffers::EndianScalar(number);
  return numbers;
}

Refusal Malformed(std::string detail) { return {Reason::kMalformed, std::move(detail)}; }
Refusal BadField(std::string_view field, std::string_view problem) {
  return {Reason::kBadField, std::string(field) + " " + std::string(problem)};
}

// Collects the first thing that is wrong; after it, nothing is read.
class Reader {
 public:
  std::optional<Refusal> refusal;

  std::string Text(const flatbuffers::String* text, const char* field) {
    if (text == nullptr) return {};
    if (text->size() > kMaxText) {
      Fail(field, "is longer than " + std::to_string(kMaxText) + " bytes");
      return {};
    }
    return text->str();
  }

  std::string NameText(const flatbuffers::String* text, const char* field) {
    std::string name = Text(text, field);
    if (!refusal && !IsName(name)) Fail(field, "is not a name");
    return name;
  }

  void Check(bool holds, const char* field, const char* problem) {
    if (!holds) Fail(field, problem);
  }

  Body Read(const wire::Hello& m) {
    Hello hello{.least_version = m.least_version(),
                .most_version = m.most_version(),
                .batch = m.batch(),
                .software = Text(m.software(), "software"),
                .start_over = m.start_over()};
    hello.model_hash = ReadHash(m.model_hash());
    Check(hello.least_version <= hello.most_version, "least_version", "is above most_version");
    Check(hello.batch > 0 && hello.batch <= 65536, "batch", "is not from 1 to 65536");
    return hello;
  }

  Body Read(const wire::Welcome& m) {
    Welcome welcome{.version = m.version(),
                    .first_round = m.first_round(),
                    .model = NameText(m.model(), "model"),
                    .classes = m.classes(),
                    .first_unit = m.first_unit(),
                    .last_unit = m.last_unit(),
                    .rounds = m.rounds(),
                    .batch = m.batch(),
                    .seed = m.seed(),
                    .label_smoothing = m.label_smoothing(),
                    .heartbeat_ms = m.heartbeat_ms(),
                    .worker_timeout_ms = m.worker_timeout_ms(),
                    .window_bytes = m.window_bytes(),
                    .segment_bytes = m.segment_bytes(),
                    .model_hash = ReadHash(m.model_hash()),
                    .ticket = m.ticket(),
                    .strategy = Text(m.strategy(), "strategy"),
                    .replan_rounds = m.replan_rounds()};
    Check(m.input() != nullptr && m.input()->size() == 3, "input", "is not three numbers");
    Check(m.units() != nullptr && m.units()->size() <= static_cast<uint32_t>(kMaxUnits), "units",
          "are missing or too many");
    Check(m.slice_ends() != nullptr && m.slice_ends()->size() <= (1u << 20), "slice_ends",
          "are missing or too many");
    if (refusal) return welcome;
    for (uint32_t i = 0; i < 3; ++i) welcome.input[i] = m.input()->Get(i);
    for (const wire::Unit* unit : *m.units()) {
      Check(unit->parameters() <= static_cast<uint64_t>(kMaxFloats) &&
                unit->statistics() <= static_cast<uint64_t>(kMaxFloats),
            "units", "have one that is larger than any model");
      welcome.units.push_back({.name = Text(unit->name(), "units"),
                               .parameters = static_cast<int64_t>(unit->parameters()),
                               .statistics = static_cast<int64_t>(unit->statistics())});
    }
    welcome.slice_ends = Numbers(*m.slice_ends());
    Check(welcome.first_round >= 0, "first_round", "is negative");
    Check(welcome.rounds >= 0, "rounds", "is negative");
    Check(welcome.first_unit <= welcome.last_unit && welcome.last_unit < welcome.units.size(),
          "last_unit", "is not a unit at or after first_unit");
    Check(welcome.label_smoothing >= 0 && welcome.label_smoothing <= 1, "label_smoothing",
          "is not from 0 to 1");
    Check(welcome.heartbeat_ms > 0, "heartbeat_ms", "is 0");
    Check(welcome.window_bytes > 0, "window_bytes", "is 0");
    Check(welcome.segment_bytes >= sizeof(float), "segment_bytes", "is below one number");
    return welcome;
  }

  Body Read(const wire::Refuse& m) { return Refuse{ReadRefusal(m.reason(), m.detail())}; }

  Body Read(const wire::Plan& m) {
    Plan plan{.ticket = m.ticket(), .has_parameters = m.has_parameters()};
    Check(m.ends() != nullptr && m.ends()->size() <= static_cast<uint32_t>(kMaxUnits), "ends",
          "are missing or too many");
    if (!refusal) plan.ends = Numbers(*m.ends());
    uint64_t before = 0;
    for (const uint64_t end : plan.ends) {
      Check(end > before && end <= static_cast<uint64_t>(kMaxFloats), "ends",
            "do not rise, or beyond any model");
      before = end;
    }
    return plan;
  }

  Body Read(const wire::Segment& m) {
    Segment segment{.kind = static_cast<SegmentKind>(m.kind()),
                    .ticket = m.ticket(),
                    .sequence = m.sequence(),
                    .first_unit = m.first_unit(),
                    .last_unit = m.last_unit(),
                    .total = m.total(),
                    .offset = m.offset(),
                    .crc32c = m.crc32c(),
                    .follows = m.follows()};
    Check(m.kind() == wire::SegmentKind::Gradients || m.kind() == wire::SegmentKind::Parameters,
          "kind", "is none of ours");
    Check(m.dtype() == wire::DType::Float32, "dtype", "is not float32");
    Check(segment.first_unit <= segment.last_unit, "first_unit", "is above last_unit");
    Check(m.data() != nullptr && m.data()->size() > 0, "data", "are missing");
    if (refusal) return segment;
    segment.data = std::as_bytes(std::span(m.data()->data(), m.data()->size()));
    Check(segment.offset % sizeof(float) == 0 && segment.data.size() % sizeof(float) == 0, "offset",
          "or data are not whole numbers of float32");
    Check(segment.offset <= segment.total && segment.data.size() <= segment.total - segment.offset,
          "offset", "and data reach beyond total");
    return segment;
  }

  Body Read(const wire::Ack& m) {
    Ack ack{.ticket = m.ticket()};
    Check(m.sequences() != nullptr && m.sequences()->size() <= kMaxSequences, "sequences",
          "are missing or too many");
    if (!refusal) ack.sequences = Numbers(*m.sequences());
    if (m.arrived_ns() == nullptr || m.arrived_ns()->size() == 0) return ack;
    Check(m.arrived_ns()->size() == ack.sequences.size(), "arrived_ns",
          "are not as many as the sequences");
    if (!refusal) ack.arrived_ns = Numbers(*m.arrived_ns());
    return ack;
  }

  Body Read(const wire::Nack& m) {
    return Nack{m.ticket(), m.sequence(), ReadRefusal(m.reason(), m.detail())};
  }

  Body Read(const wire::Heartbeat&) { return Heartbeat{}; }

  Body Read(const wire::Goodbye& m) {
    Check(m.kind() >= wire::GoodbyeKind::Leaving && m.kind() <= wire::GoodbyeKind::Done, "kind",
          "is none of ours");
    return Goodbye{static_cast<GoodbyeKind>(m.kind()), Text(m.detail(), "detail")};
  }

  Body Read(const wire::Telemetry& m) {
    return Telemetry{m.loss(),    m.images(),     m.compute_ns(),
                     m.wait_ns(), m.bytes_sent(), m.bytes_received()};
  }

 private:
  void Fail(std::string_view field, std::string_view problem) {
    if (!refusal) refusal = BadField(field, problem);
  }

  ModelHash ReadHash(const flatbuffers::Vector<uint8_t>* bytes) {
    ModelHash hash = {};
    if (bytes == nullptr || bytes->size() != hash.size()) {
      Fail("model_hash", "is not 32 bytes");
    } else {
      std::memcpy(hash.data(), bytes->data(), hash.size());
    }
    return hash;
  }

  Refusal ReadRefusal(uint16_t reason, const flatbuffers::String* detail) {
    Check(reason > 0 && reason < kReasons, "reason", "is none of ours");
    return {static_cast<Reason>(reason), Text(detail, "detail")};
  }
};

}  // namespace

std::variant<Message, Refusal> Decode(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  constexpr size_t kLeast = 8;  // an offset and the identifier; the library does not check
  if (bytes.size() < kLeast || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return Malformed("its " + std::to_string(bytes.size()) + " bytes are no size of a message");
  }
  if (!wire::MessageBufferHasIdentifier(data)) {
    return Malformed("it does not begin as a weft message does");
  }
  flatbuffers::Verifier verifier(data, bytes.size(), kDepth, kTables);
  if (!wire::VerifyMessageBuffer(verifier)) {
    return Malformed("its structure is damaged");
  }
  const wire::Message& m = *wire::GetMessage(data);
  if (!CheckHolds(bytes, m.check())) {
    return Refusal{Reason::kBadChecksum, "it does not fit its checksum; send it again"};
  }
  if (m.version() != kProtocolVersion) {
    // Hello of any version is read, to answer with the versions there are.
    if (m.body_type() != wire::Body::Hello) {
      return Refusal{Reason::kUnsupportedVersion,
                     "it is of protocol version " + std::to_string(m.version()) +
                         " and this side speaks " + std::to_string(kProtocolVersion)};
    }
  }
  Reader reader;
  Message message{.header = {.version = m.version(),
                             .job = reader.NameText(m.job(), "job"),
                             .shard = m.shard(),
                             .shards = m.shards(),
                             .epoch = m.epoch(),
                             .round = m.round(),
                             .worker = reader.NameText(m.worker(), "worker"),
                             .incarnation = m.incarnation()},
                  .body = Heartbeat{}};
  reader.Check(m.shard() < m.shards(), "shard", "is not below shards");
  reader.Check(m.round() >= 0, "round", "is negative");
  if (reader.refusal) return *reader.refusal;
  // The verifier is content with a type alone.
  if (m.body() == nullptr) return BadField("body", "is missing");
  switch (m.body_type()) {
    case wire::Body::Hello:
      message.body = reader.Read(*m.body_as_Hello());
      break;
    case wire::Body::Welcome:
      message.body = reader.Read(*m.body_as_Welcome());
      break;
    case wire::Body::Refuse:
      message.body = reader.Read(*m.body_as_Refuse());
      break;
    case wire::Body::Plan:
      message.body = reader.Read(*m.body_as_Plan());
      break;
    case wire::Body::Segment:
      message.body = reader.Read(*m.body_as_Segment());
      break;
    case wire::Body::Ack:
      message.body = reader.Read(*m.body_as_Ack());
      break;
    case wire::Body::Nack:
      message.body = reader.Read(*m.body_as_Nack());
      break;
    case wire::Body::Heartbeat:
      message.body = reader.Read(*m.body_as_Heartbeat());
      break;
    case wire::Body::Goodbye:
      message.body = reader.Read(*m.body_as_Goodbye());
      break;
    case wire::Body::Telemetry:
      message.body = reader.Read(*m.body_as_Telemetry());
      break;
    case wire::Body::NONE:
      return BadField("body", "is missing");
  }
  // A type of a later version has a number the switch does not know.
  if (m.body_type() > wire::Body::MAX) return BadField("body", "is none of ours");
  if (reader.refusal) return *reader.refusal;
  return message;
}

bool ChecksumHolds(const Segment& segment) { return Crc32c(segment.data) == segment.crc32c; }

}  // namespace weft::net
