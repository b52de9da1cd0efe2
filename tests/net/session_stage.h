// SPDX-License-Identifier: Apache-2.0
// A worker's session of a small model, and a server played by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/parallel.h"
#include "net/codec/codec.h"
#include "net/worker_session.h"

namespace weft::net {

struct HandClock final : Clock {
  int64_t NowNs() const override { return now; }
  int64_t now = 1'000 * kNsPerMs;
};

struct Paper final : Transport {
  struct Sheet {
    std::string topic;
    Payload payload;
  };
  std::vector<Sheet> sheets;
  int renewed = 0;

  void Publish(const std::string& topic, Payload payload) override {
    sheets.push_back({topic, std::move(payload)});
  }
  void Poll(TransportEvents&, int64_t) override {}
  void Renew(const std::string&) override { ++renewed; }
  void Wake() override {}
  int64_t last_alive_ns() const override { return 0; }
};

inline ModelHash HashOf(int seed) {
  ModelHash hash = {};
  hash[0] = static_cast<std::byte>(seed);
  return hash;
}

// A worker of a model of three units, 5, 7 + 3 and 4 floats, and what it said.
struct Stage {
  explicit Stage(int shards = 1)
      : setting({.job = "job",
                 .worker = "w1",
                 .incarnation = 42,
                 .shards = shards,
                 .model_hash = HashOf(7),
                 .batch = 8,
                 .software = "test"}),
        session(setting, layout, paper, clock) {
    session.Connected({.payload_bytes = 1 << 20});
  }

  Header HeaderOf(int64_t round) const {
    return {.job = "job", .epoch = epoch, .round = round, .worker = "w1", .incarnation = 42};
  }
  void Hear(const Message& message) {
    session.Received("weft/job/w1/pull", Payload::CopyOf(Encode(message).bytes()), false);
  }
  // Of a server of `part` of the model, which it sums and sends on as one.
  Welcome WelcomeTo(const WireLayout::UnitRange& part, uint64_t ticket, int64_t first_round) const {
    return {.first_round = first_round,
            .model = "toy",
            .input = {1, 1, 1},
            .classes = 2,
            .units = layout.units(),
            .first_unit = static_cast<uint32_t>(part.first),
            .last_unit = static_cast<uint32_t>(part.last),
            .slice_ends = {static_cast<uint64_t>(layout.Units(part.first, part.last).size())},
            .rounds = 9,
            .batch = 8,
            .heartbeat_ms = 500,
            .worker_timeout_ms = 3000,
            .window_bytes = 1 << 20,
            .segment_bytes = 1 << 10,
            .model_hash = HashOf(7),
            .ticket = ticket};
  }
  void HearWelcome(uint64_t ticket, int64_t first_round, std::vector<uint64_t> slice_ends = {19},
                   const ModelHash& model = HashOf(7)) {
    Welcome welcome = WelcomeTo({0, 2}, ticket, first_round);
    welcome.slice_ends = std::move(slice_ends);
    welcome.model_hash = model;
    Hear({HeaderOf(first_round), welcome});
  }
  Segment All(uint64_t sequence, const std::vector<float>& values) const {
    return {.kind = SegmentKind::kParameters,
            .ticket = 1,
            .sequence = sequence,
            .first_unit = 0,
            .last_unit = 2,
            .total = 19 * 4,
            .data = std::as_bytes(std::span(values))};
  }
  // The bodies of one kind that it has said since the last call.
  template <typename Kind>
  std::vector<Kind> Said() {
    std::vector<Kind> said;
    kept.clear();
    for (const Paper::Sheet& sheet : paper.sheets) {
      kept.push_back(sheet.payload);
      const auto decoded = Decode(sheet.payload.bytes());
      const auto& message = std::get<Message>(decoded);
      if (const auto* body = std::get_if<Kind>(&message.body)) said.push_back(*body);
    }
    paper.sheets.clear();
    return said;
  }
  void ReleaseAll(const WorkerSession::Attempt& attempt, const std::vector<float>& gradients) {
    const auto part = [&](FloatRange range) {
      return std::span(gradients).subspan(static_cast<size_t>(range.begin),
                                          static_cast<size_t>(range.size()));
    };
    for (int unit = 2; unit >= 0; --unit) {
      session.Release(attempt, unit, part(layout.Parameters(unit)), part(layout.Statistics(unit)),
                      serial);
    }
  }
  void Join() {
    HearWelcome(1, 0);
    paper.sheets.clear();
  }

  const WorkerSession::Setting setting;
  WireLayout layout = *WireLayout::Create({{"a", 5, 0}, {"b", 7, 3}, {"c", 4, 0}});
  HandClock clock;
  Paper paper;
  Serial serial;
  std::vector<Payload> kept;
  uint64_t epoch = 1;
  WorkerSession session;
};

inline std::vector<float> Rising(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

}  // namespace weft::net
