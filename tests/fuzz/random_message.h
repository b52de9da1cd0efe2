// SPDX-License-Identifier: Apache-2.0
// A message of any kind out of a fuzzer's input: fields that make sense often enough to get far,
// and any value now and then.
#pragma once

#include <string>
#include <vector>

#include "net/message.h"
#include "tests/fuzz/fuzz_target.h"

namespace weft::net {

class RandomMessage {
 public:
  RandomMessage(FuzzInput& input, const WireLayout& layout) : in_(input), layout_(layout) {}

  // What segments look at is valid until the next call.
  Message Take(Header header, uint64_t ticket) {
    if (in_.Pick(4) == 0) header.round = static_cast<int64_t>(Small());
    if (in_.Pick(8) == 0) header.epoch = Small();
    if (in_.Pick(8) == 0) header.incarnation = Small();
    if (in_.Pick(32) == 0) header.version = in_.Take<uint16_t>();
    if (in_.Pick(32) == 0) header.shard = in_.Take<uint16_t>();
    if (in_.Pick(32) == 0) header.shards = in_.Take<uint16_t>();
    if (in_.Pick(32) == 0) header.worker = Text();
    if (in_.Pick(32) == 0) header.job = Text();
    if (in_.Pick(8) == 0) ticket = Small();
    return {header, TakeBody(ticket)};
  }

 private:
  uint64_t Small() {
    const auto byte = in_.Take<uint8_t>();
    return byte < 250 ? byte % 8 : in_.Take<uint64_t>() >> 1;
  }
  std::string Text() {
    const auto bytes = in_.Bytes(in_.Take<uint8_t>() % 80);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  ModelHash Hash() {
    ModelHash hash = {};
    hash[0] = static_cast<std::byte>(in_.Pick(3));
    return hash;
  }
  Refusal AnyRefusal() { return {static_cast<Reason>(in_.Take<uint8_t>()), Text()}; }

  Body TakeBody(uint64_t ticket) {
    switch (in_.Pick(12)) {
      case 0:
        return Hello{.model_hash = Hash(),
                     .batch = static_cast<uint32_t>(Small()),
                     .software = Text(),
                     .start_over = in_.Coin()};
      case 1: {
        Plan plan{.ticket = ticket};
        for (int i = in_.Pick(4); i > 0; --i) plan.ends.push_back(in_.Take<uint8_t>());
        return plan;
      }
      case 2: {
        Ack ack{.ticket = ticket};
        for (int i = in_.Pick(4); i > 0; --i) ack.sequences.push_back(Small());
        if (in_.Coin()) ack.arrived_ns.assign(ack.sequences.size(), in_.Take<int64_t>());
        return ack;
      }
      case 3:
        return Nack{.ticket = ticket, .sequence = Small(), .refusal = AnyRefusal()};
      case 4:
        return Heartbeat{};
      case 5:
        return Goodbye{.kind = static_cast<GoodbyeKind>(in_.Pick(5)), .detail = Text()};
      case 6:
        return Telemetry{.loss = in_.Take<double>()};
      case 7:
        return Refuse{AnyRefusal()};
      case 8:
        return Welcome{.first_round = static_cast<int64_t>(Small()),
                       .model = "toy",
                       .units = layout_.units(),
                       .first_unit = static_cast<uint32_t>(Small()),
                       .last_unit = static_cast<uint32_t>(Small()),
                       .slice_ends = {Small()},
                       .rounds = static_cast<int64_t>(Small()),
                       .heartbeat_ms = in_.Take<uint32_t>(),
                       .worker_timeout_ms = in_.Take<uint32_t>(),
                       .window_bytes = Small(),
                       .segment_bytes = Small() * 8,
                       .model_hash = Hash(),
                       .ticket = ticket};
      default:
        return TakeSegment(ticket);
    }
  }

  // Mostly a part of some units, in their proper size.
  Segment TakeSegment(uint64_t ticket) {
    Segment segment{.kind = static_cast<SegmentKind>(in_.Pick(16) == 0 ? in_.Pick(4) : kind),
                    .ticket = ticket,
                    .sequence = Small(),
                    .first_unit = static_cast<uint32_t>(in_.Pick(layout_.unit_count())),
                    .last_unit = static_cast<uint32_t>(in_.Pick(layout_.unit_count())),
                    .follows = in_.Coin()};
    if (segment.first_unit <= segment.last_unit) {
      const FloatRange units =
          layout_.Units(static_cast<int>(segment.first_unit), static_cast<int>(segment.last_unit));
      segment.total = static_cast<uint64_t>(units.size()) * 4;
      segment.offset = static_cast<uint64_t>(in_.Pick(static_cast<int>(units.size()))) * 4;
    }
    size_t count = segment.total > segment.offset ? (segment.total - segment.offset) / 4 : 1;
    if (in_.Coin()) count = static_cast<size_t>(in_.Pick(static_cast<int>(count) + 1));
    floats_.assign(count, 0.0f);
    for (float& f : floats_) {
      const int what = in_.Pick(64);
      f = what == 63 ? in_.Take<float>() : 0.125f * static_cast<float>(what - 32);
    }
    segment.data = std::as_bytes(std::span(floats_));
    if (in_.Pick(16) == 0) segment.first_unit = in_.Take<uint32_t>();
    if (in_.Pick(16) == 0) segment.last_unit = in_.Take<uint32_t>();
    if (in_.Pick(16) == 0) segment.total = in_.Take<uint64_t>();
    if (in_.Pick(16) == 0) segment.offset = in_.Take<uint64_t>();
    return segment;
  }

 public:
  int kind = 1;  // of most segments, as SegmentKind

 private:
  FuzzInput& in_;
  const WireLayout& layout_;
  std::vector<float> floats_;
};

}  // namespace weft::net
