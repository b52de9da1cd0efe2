// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/input_gate.h"

#include "net/codec/codec.h"

namespace weft::ps {
namespace {

using net::Lane;
using net::Reason;

// The lane a worker says such a thing on; nullopt if it is not for workers to say.
std::optional<Lane> LaneOf(const net::Body& body) {
  if (std::holds_alternative<net::Segment>(body)) return Lane::kPush;
  if (std::holds_alternative<net::Telemetry>(body)) return Lane::kTelemetry;
  if (std::holds_alternative<net::Welcome>(body) || std::holds_alternative<net::Refuse>(body)) {
    return std::nullopt;
  }
  return Lane::kControl;
}

}  // namespace

InputGate::InputGate(const Setting& setting)
    : setting_(setting), level_(net::JobLevel(setting.job, setting.shard, setting.shards)) {}

std::variant<net::Message, InputGate::Turned> InputGate::Look(const std::string& topic,
                                                              const net::Payload& payload,
                                                              bool retained) const {
  const std::optional<net::TopicParts> parts = net::ParseTopic(topic);
  if (!parts || parts->job_level != level_ || parts->lane == Lane::kPull) {
    return Turned{.refusal = {Reason::kWrongJob, "'" + topic + "' is no topic of this job"}};
  }
  Turned turned{.worker = std::string(parts->worker)};
  const auto turn = [&](Reason reason, std::string detail) {
    turned.refusal = {reason, std::move(detail)};
    return turned;
  };
  if (!net::IsName(parts->worker)) return Turned{.refusal = {Reason::kWrongIdentity, topic}};
  if (retained) return turn(Reason::kRetained, "retained messages are not read; publish it anew");
  if (static_cast<int64_t>(payload.size()) > setting_.max_message_bytes) {
    return turn(Reason::kTooLarge, "it has " + std::to_string(payload.size()) +
                                       " bytes where this job allows " +
                                       std::to_string(setting_.max_message_bytes));
  }
  std::variant<net::Message, net::Refusal> decoded = net::Decode(payload.bytes());
  if (auto* refusal = std::get_if<net::Refusal>(&decoded)) {
    return turn(refusal->reason, std::move(refusal->detail));
  }
  net::Message& message = std::get<net::Message>(decoded);
  turned.header = message.header;
  const auto* segment = std::get_if<net::Segment>(&message.body);
  if (segment != nullptr) {
    turned.ticket = segment->ticket;
    turned.sequence = segment->sequence;
  }
  if (message.header.worker != parts->worker) {
    return turn(Reason::kWrongIdentity, "it says it is from '" + message.header.worker +
                                            "' and came by the topic of '" + turned.worker + "'");
  }
  if (message.header.job != setting_.job || message.header.shard != setting_.shard ||
      message.header.shards != setting_.shards) {
    return turn(Reason::kWrongJob,
                "it is for server " + std::to_string(message.header.shard) + " of " +
                    std::to_string(message.header.shards) + " of job '" + message.header.job +
                    "' and this is " + std::to_string(setting_.shard) + " of " +
                    std::to_string(setting_.shards) + " of '" + setting_.job + "'");
  }
  const std::optional<Lane> lane = LaneOf(message.body);
  if (!lane || *lane != parts->lane) {
    return turn(Reason::kBadField, "body is not for a worker to say on '" + topic + "'");
  }
  if (segment != nullptr) {
    if (segment->kind != net::SegmentKind::kGradients) {
      return turn(Reason::kBadField, "kind is not gradients");
    }
    if (segment->sequence == 0) return turn(Reason::kBadField, "sequence is 0");
    if (!net::ChecksumHolds(*segment)) {
      return turn(Reason::kBadChecksum, "the data do not fit their checksum; send them again");
    }
  }
  return std::move(message);
}

}  // namespace weft::ps
