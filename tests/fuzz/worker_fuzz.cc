// SPDX-License-Identifier: Apache-2.0
// Whatever servers say, or whoever has got hold of the broker: a worker's session goes on, writes
// what can be read, and computes with units that are whole.
#include <optional>

#include "core/clock.h"
#include "net/codec/codec.h"
#include "net/worker_session.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/random_message.h"

namespace weft::net {
namespace {

struct HandClock final : Clock {
  int64_t NowNs() const override { return now; }
  int64_t now = 1'000 * kNsPerMs;
};

struct Reader final : Transport {
  void Publish(const std::string&, Payload payload) override {
    MustHold(std::holds_alternative<Message>(Decode(payload.bytes())),
             "the worker writes what can be read");
  }
  void Poll(TransportEvents&, int64_t) override {}
  void Renew(const std::string&) override {}
  void Wake() override {}
  int64_t last_alive_ns() const override { return 0; }
};

void Run(FuzzInput& in) {
  HandClock clock;
  Reader transport;
  Serial serial;
  const auto layout = *WireLayout::Create({{"a", 3, 0}, {"b", 2, 2}, {"c", 4, 0}});
  const int shards = 1 + in.Pick(2);
  ModelHash hash = {};
  hash[0] = std::byte{1};
  WorkerSession session({.job = "job",
                         .worker = "w1",
                         .incarnation = 1,
                         .shards = shards,
                         .model_hash = hash,
                         .batch = 4,
                         .software = "fuzz"},
                        layout, transport, clock);
  session.Connected({.payload_bytes = 4096});
  RandomMessage random(in, layout);
  random.kind = 2;
  uint64_t ticket = 0;
  std::optional<WorkerSession::Attempt> attempt;
  const std::vector<float> zeros(16, 0.0f);
  for (int step = 0; step < 200 && !in.empty(); ++step) {
    const int shard = in.Pick(shards);
    const std::string topic = TopicOf(JobLevel("job", shard, shards), "w1", Lane::kPull);
    switch (in.Pick(8)) {
      case 0:
        clock.now += in.Take<uint16_t>() * kNsPerMs / 16;
        break;
      case 1:
        session.Received(topic, Payload::CopyOf(in.Bytes(in.Take<uint8_t>())), in.Pick(8) == 0);
        break;
      case 2:
        if (in.Coin()) {
          session.Disconnected(Status::Unavailable("gone"));
        } else {
          session.Connected({.payload_bytes = in.Take<uint16_t>()});
        }
        break;
      case 3:  // a welcome that is good, as most are
        ++ticket;
        session.Received(
            topic,
            Encode({{.job = "job",
                     .shard = static_cast<uint16_t>(shard),
                     .shards = static_cast<uint16_t>(shards),
                     .epoch = 1,
                     .worker = "w1",
                     .incarnation = 1},
                    Welcome{.first_round = in.Pick(4),
                            .model = "toy",
                            .units = layout.units(),
                            .first_unit = static_cast<uint32_t>(layout.Shard(shard, shards)->first),
                            .last_unit = static_cast<uint32_t>(layout.Shard(shard, shards)->last),
                            .slice_ends = {9},
                            .rounds = 4,
                            .heartbeat_ms = 500,
                            .worker_timeout_ms = 3000,
                            .window_bytes = 64,
                            .segment_bytes = 16,
                            .model_hash = hash,
                            .ticket = ticket}}),
            false);
        break;
      default:
        session.Received(topic,
                         Encode(random.Take({.job = "job",
                                             .shard = static_cast<uint16_t>(shard),
                                             .shards = static_cast<uint16_t>(shards),
                                             .epoch = 1,
                                             .worker = "w1",
                                             .incarnation = 1},
                                            ticket)),
                         false);
    }
    session.Tick();
    MustHold(session.next_tick_ns() > clock.now, "what was to be done is done");
    if (const auto next = session.NextAttempt(); next && in.Coin()) {
      attempt = next;
      session.Begin(*attempt);
    }
    if (attempt && in.Coin()) {
      const int unit = in.Pick(3);
      if (session.Look(*attempt, unit) == WorkerSession::UnitState::kReady) {
        MustHold(session.Parameters(unit).size() ==
                     static_cast<size_t>(layout.units()[static_cast<size_t>(unit)].parameters),
                 "a unit has its size");
      }
      session.Release(*attempt, unit,
                      std::span(zeros).first(static_cast<size_t>(layout.Parameters(unit).size())),
                      std::span(zeros).first(static_cast<size_t>(layout.Statistics(unit).size())),
                      serial);
      session.AllAnswered(*attempt);
    }
    const SegmentSender::Ledger ledger = session.ledger();
    MustHold(ledger.acknowledged + ledger.refused + ledger.expired <= ledger.queued,
             "a segment has one verdict");
    if (!session.failure().ok()) return;
  }
  session.TakeProblems();
  session.Leave("the end");
}

}  // namespace
}  // namespace weft::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::FuzzInput input(data, size);
  weft::net::Run(input);
  return 0;
}
