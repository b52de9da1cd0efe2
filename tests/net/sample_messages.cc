// SPDX-License-Identifier: Apache-2.0
#include "tests/net/sample_messages.h"

#include <algorithm>
#include <array>

#include "core/crc32c.h"

namespace weft::net {
namespace {

ModelHash SomeHash() {
  ModelHash hash;
  for (size_t i = 0; i < hash.size(); ++i) hash[i] = static_cast<std::byte>(3 * i + 1);
  return hash;
}

std::span<const std::byte> SomeData() {
  static constexpr std::array<float, 6> kFloats = {1.5f, -2.25f, 0.0f, 3.0e-8f, -7.0e12f, 0.125f};
  return std::as_bytes(std::span(kFloats));
}

Header HeaderOf(int64_t round) {
  return {.version = 1,
          .job = "job-7.b",
          .shard = 2,
          .shards = 5,
          .epoch = 11,
          .round = round,
          .worker = "pi_4",
          .incarnation = 0xFEDCBA9876543210u};
}

// A field that is added without a line here does not compile.
bool SameBody(const Hello& a, const Hello& b) {
  const auto& [least, most, hash, batch, software, start_over] = a;
  return least == b.least_version && most == b.most_version && hash == b.model_hash &&
         batch == b.batch && software == b.software && start_over == b.start_over;
}

bool SameBody(const Welcome& a, const Welcome& b) {
  const auto& [version, first_round, model, input, classes, units, first_unit, last_unit,
               slice_ends, rounds, batch, seed, label_smoothing, heartbeat_ms, worker_timeout_ms,
               window_bytes, segment_bytes, model_hash, ticket, strategy, replan_rounds] = a;
  return version == b.version && first_round == b.first_round && model == b.model &&
         input == b.input && classes == b.classes && units == b.units &&
         first_unit == b.first_unit && last_unit == b.last_unit && slice_ends == b.slice_ends &&
         rounds == b.rounds && batch == b.batch && seed == b.seed &&
         label_smoothing == b.label_smoothing && heartbeat_ms == b.heartbeat_ms &&
         worker_timeout_ms == b.worker_timeout_ms && window_bytes == b.window_bytes &&
         segment_bytes == b.segment_bytes && model_hash == b.model_hash && ticket == b.ticket &&
         strategy == b.strategy && replan_rounds == b.replan_rounds;
}

bool SameRefusal(const Refusal& a, const Refusal& b) {
  const auto& [reason, detail] = a;
  return reason == b.reason && detail == b.detail;
}

bool SameBody(const Refuse& a, const Refuse& b) {
  const auto& [refusal] = a;
  return SameRefusal(refusal, b.refusal);
}

bool SameBody(const Plan& a, const Plan& b) {
  const auto& [ticket, ends, has_parameters] = a;
  return ticket == b.ticket && ends == b.ends && has_parameters == b.has_parameters;
}

bool SameBody(const Segment& a, const Segment& b) {
  const auto& [kind, ticket, sequence, first_unit, last_unit, total, offset, crc32c, data,
               follows] = a;
  return kind == b.kind && ticket == b.ticket && sequence == b.sequence &&
         first_unit == b.first_unit && last_unit == b.last_unit && total == b.total &&
         offset == b.offset && crc32c == b.crc32c && std::ranges::equal(data, b.data) &&
         follows == b.follows;
}

bool SameBody(const Ack& a, const Ack& b) {
  const auto& [ticket, sequences, arrived_ns] = a;
  return ticket == b.ticket && sequences == b.sequences && arrived_ns == b.arrived_ns;
}

bool SameBody(const Nack& a, const Nack& b) {
  const auto& [ticket, sequence, refusal] = a;
  return ticket == b.ticket && sequence == b.sequence && SameRefusal(refusal, b.refusal);
}

bool SameBody(const Heartbeat&, const Heartbeat&) { return true; }

bool SameBody(const Goodbye& a, const Goodbye& b) {
  const auto& [kind, detail] = a;
  return kind == b.kind && detail == b.detail;
}

// Telemetry is not checked on its way, so a loss may be no number; bits are compared by text.
bool SameBody(const Telemetry& a, const Telemetry& b) {
  const auto& [loss, images, compute_ns, wait_ns, bytes_sent, bytes_received] = a;
  return (loss == b.loss || (loss != loss && b.loss != b.loss)) && images == b.images &&
         compute_ns == b.compute_ns && wait_ns == b.wait_ns && bytes_sent == b.bytes_sent &&
         bytes_received == b.bytes_received;
}

}  // namespace

std::vector<Sample> SampleMessages() {
  const auto data = SomeData();
  return {
      {"hello",
       {HeaderOf(0), Hello{.least_version = 1,
                           .most_version = 3,
                           .model_hash = SomeHash(),
                           .batch = 48,
                           .software = "weft 0.1.0",
                           .start_over = true}}},
      {"welcome",
       {HeaderOf(9), Welcome{.version = 1,
                             .first_round = 10,
                             .model = "lenet5",
                             .input = {3, 32, 28},
                             .classes = 10,
                             .units = {{"conv1", 456, 0}, {"bn1", 12, 13}, {"fc", 1690, 0}},
                             .first_unit = 1,
                             .last_unit = 2,
                             .slice_ends = {25, 1000, 1715},
                             .rounds = 2000,
                             .batch = 64,
                             .seed = 0x0123456789ABCDEFu,
                             .label_smoothing = 0.1,
                             .heartbeat_ms = 1000,
                             .worker_timeout_ms = 10'000,
                             .window_bytes = 4 << 20,
                             .segment_bytes = 256 << 10,
                             .model_hash = SomeHash(),
                             .ticket = 77,
                             .strategy = "weave",
                             .replan_rounds = 50}}},
      {"refuse", {HeaderOf(9), Refuse{{Reason::kJobFull, "the job has its 4 workers"}}}},
      {"plan",
       {HeaderOf(10), Plan{.ticket = 77, .ends = {1, 2, 400, 90'000}, .has_parameters = true}}},
      {"segment",
       {HeaderOf(12), Segment{.kind = SegmentKind::kParameters,
                              .ticket = 77,
                              .sequence = 123'456'789'012u,
                              .first_unit = 1,
                              .last_unit = 4,
                              .total = 100'000,
                              .offset = 4096,
                              .crc32c = Crc32cByTable(data),
                              .data = data,
                              .follows = true}}},
      {"ack",
       {HeaderOf(12), Ack{.ticket = 77,
                          .sequences = {5, 4, 0xFFFFFFFFFFFFFFFFu, 1},
                          .arrived_ns = {1'000'000'007, 1'000'000'008, -3, 0}}}},
      {"nack",
       {HeaderOf(12),
        Nack{.ticket = 78, .sequence = 41, .refusal = {Reason::kStaleRound, "round 13 is open"}}}},
      {"heartbeat", {HeaderOf(12), Heartbeat{}}},
      {"goodbye", {HeaderOf(13), Goodbye{.kind = GoodbyeKind::kDied, .detail = "the lid closed"}}},
      {"telemetry",
       {HeaderOf(13), Telemetry{.loss = 1.75,
                                .images = 6400,
                                .compute_ns = 1'234'567,
                                .wait_ns = 89,
                                .bytes_sent = 1'000'001,
                                .bytes_received = 2'000'002}}},
  };
}

bool Same(const Message& a, const Message& b) {
  return a.header == b.header && a.body.index() == b.body.index() &&
         std::visit(
             [&](const auto& body) {
               return SameBody(body, std::get<std::decay_t<decltype(body)>>(b.body));
             },
             a.body);
}

}  // namespace weft::net
