// SPDX-License-Identifier: Apache-2.0
#include <weft_generated.h>

#include <cstring>

#include "core/crc32c.h"
#include "net/codec/codec.h"
#include "net/codec/message_check.h"

namespace weft::net {
namespace {

constexpr size_t kDataAlignment = 32;  // the most FlatBuffers knows; as the schema says

class Writer {
 public:
  explicit Writer(size_t data_bytes) : builder_(data_bytes + static_cast<size_t>(kEnvelopeBytes)) {}

  Payload Write(const Message& message) {
    const auto [type, body] = std::visit([this](const auto& b) { return Add(b); }, message.body);
    const Header& h = message.header;
    const auto job = builder_.CreateString(h.job);
    const auto worker = builder_.CreateString(h.worker);
    builder_.Finish(wire::CreateMessage(builder_, h.version, job, h.shard, h.shards, h.epoch,
                                        h.round, worker, h.incarnation, type, body,
                                        /*check=*/0),
                    wire::MessageIdentifier());
    auto owner = std::make_shared<flatbuffers::DetachedBuffer>(builder_.Release());
    const std::span<const std::byte> bytes =
        std::as_bytes(std::span<const uint8_t>(owner->data(), owner->size()));
    const uint32_t check = flatbuffers::EndianScalar(Crc32c(bytes));
    std::memcpy(owner->data() + *CheckPlace(bytes), &check, sizeof(check));
    return {std::move(owner), bytes};
  }

 private:
  struct Added {
    wire::Body type;
    flatbuffers::Offset<void> body;
  };
  template <typename Table>
  static Added As(wire::Body type, flatbuffers::Offset<Table> table) {
    return {type, table.Union()};
  }

  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> AddHash(const ModelHash& hash) {
    return builder_.CreateVector(reinterpret_cast<const uint8_t*>(hash.data()), hash.size());
  }

  Added Add(const Hello& m) {
    const auto hash = AddHash(m.model_hash);
    const auto software = builder_.CreateString(m.software);
    return As(wire::Body::Hello, wire::CreateHello(builder_, m.least_version, m.most_version, hash,
                                                   m.batch, software, m.start_over));
  }

  Added Add(const Welcome& m) {
    std::vector<flatbuffers::Offset<wire::Unit>> units;
    for (const WireUnit& unit : m.units) {
      const auto name = builder_.CreateString(unit.name);
      units.push_back(wire::CreateUnit(builder_, name, static_cast<uint64_t>(unit.parameters),
                                       static_cast<uint64_t>(unit.statistics)));
    }
    const auto model = builder_.CreateString(m.model);
    const auto input = builder_.CreateVector(m.input.data(), m.input.size());
    const auto unit_vector = builder_.CreateVector(units);
    const auto ends = builder_.CreateVector(m.slice_ends);
    const auto hash = AddHash(m.model_hash);
    const auto strategy = builder_.CreateString(m.strategy);
    return As(
        wire::Body::Welcome,
        wire::CreateWelcome(builder_, m.version, m.first_round, model, input, m.classes,
                            unit_vector, m.first_unit, m.last_unit, ends, m.rounds, m.batch, m.seed,
                            m.label_smoothing, m.heartbeat_ms, m.worker_timeout_ms, m.window_bytes,
                            m.segment_bytes, hash, m.ticket, strategy, m.replan_rounds));
  }

  Added Add(const Refuse& m) {
    const auto detail = builder_.CreateString(m.refusal.detail);
    return As(wire::Body::Refuse,
              wire::CreateRefuse(builder_, static_cast<uint16_t>(m.refusal.reason), detail));
  }

  Added Add(const Plan& m) {
    const auto ends = builder_.CreateVector(m.ends);
    return As(wire::Body::Plan, wire::CreatePlan(builder_, m.ticket, ends, m.has_parameters));
  }

  Added Add(const Segment& m) {
    uint8_t* place = nullptr;
    builder_.ForceVectorAlignment(m.data.size(), 1, kDataAlignment);
    const auto data = builder_.CreateUninitializedVector(m.data.size(), 1, &place);
    if (!m.data.empty()) std::memcpy(place, m.data.data(), m.data.size());
    const uint32_t crc = Crc32c(m.data);
    return As(
        wire::Body::Segment,
        wire::CreateSegment(builder_, static_cast<wire::SegmentKind>(m.kind), wire::DType::Float32,
                            m.ticket, m.sequence, m.first_unit, m.last_unit, m.total, m.offset, crc,
                            flatbuffers::Offset<flatbuffers::Vector<uint8_t>>(data), m.follows));
  }

  Added Add(const Ack& m) {
    const auto sequences = builder_.CreateVector(m.sequences);
    const auto arrived = builder_.CreateVector(m.arrived_ns);
    return As(wire::Body::Ack, wire::CreateAck(builder_, m.ticket, sequences, arrived));
  }

  Added Add(const Nack& m) {
    const auto detail = builder_.CreateString(m.refusal.detail);
    return As(wire::Body::Nack, wire::CreateNack(builder_, m.ticket, m.sequence,
                                                 static_cast<uint16_t>(m.refusal.reason), detail));
  }

  Added Add(const Heartbeat&) { return As(wire::Body::Heartbeat, wire::CreateHeartbeat(builder_)); }

  Added Add(const Goodbye& m) {
    const auto detail = builder_.CreateString(m.detail);
    return As(wire::Body::Goodbye,
              wire::CreateGoodbye(builder_, static_cast<wire::GoodbyeKind>(m.kind), detail));
  }

  Added Add(const Telemetry& m) {
    return As(wire::Body::Telemetry,
              wire::CreateTelemetry(builder_, m.loss, m.images, m.compute_ns, m.wait_ns,
                                    m.bytes_sent, m.bytes_received));
  }

  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

Payload Encode(const Message& message) {
  const auto* segment = std::get_if<Segment>(&message.body);
  return Writer(segment != nullptr ? segment->data.size() : 0).Write(message);
}

}  // namespace weft::net
