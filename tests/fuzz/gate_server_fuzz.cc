// SPDX-License-Identifier: Apache-2.0
// Whatever two workers send, in whatever order, and whenever: the server goes on, its model is
// finite, and it changes only by a round whose record says who contributed.
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "cloud_ps/server.h"
#include "core/clock.h"
#include "net/codec/codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/random_message.h"

namespace weft::ps {
namespace {

struct HandClock final : Clock {
  int64_t NowNs() const override { return now; }
  int64_t now = 1'000 * kNsPerMs;
};

struct Silence final : LogSink {
  void Write(LogLevel, std::string_view) override {}
};

// Reads what the server says, to know the tickets it gave.
struct Reader final : net::Transport {
  explicit Reader(const Clock& c) : clock(c) {}
  void Publish(const std::string& topic, net::Payload payload) override {
    const auto decoded = net::Decode(payload.bytes());
    MustHold(std::holds_alternative<net::Message>(decoded), "the server writes what can be read");
    const net::Message& message = std::get<net::Message>(decoded);
    const auto parts = net::ParseTopic(topic);
    MustHold(parts && parts->worker == message.header.worker, "and sends it to whom it is for");
    if (const auto* welcome = std::get_if<net::Welcome>(&message.body)) {
      tickets[message.header.worker] = welcome->ticket;
    }
  }
  void Poll(net::TransportEvents&, int64_t) override {}
  void Renew(const std::string&) override {}
  void Wake() override {}
  int64_t last_alive_ns() const override { return clock.NowNs(); }
  const Clock& clock;
  std::map<std::string, uint64_t> tickets;
};

struct CountingKeeper final : Keeper {
  void Append(const JournalRecord& record) override {
    MustHold(!record.contributions.empty(), "a round has somebody's gradients");
    for (size_t i = 1; i < record.contributions.size(); ++i) {
      MustHold(record.contributions[i - 1].worker < record.contributions[i].worker,
               "nobody counts twice");
    }
    ++records;
    events.push_back(
        {.kind = KeptEvent::Kind::kAppended, .round = record.round, .slice = record.slice});
    if (full) events.back().status = Status::Unavailable("full");
  }
  void Checkpoint(const Snapshot& snapshot) override {
    events.push_back({.kind = KeptEvent::Kind::kCheckpointed, .round = snapshot.round});
    if (full) events.back().status = Status::Unavailable("full");
  }
  std::vector<KeptEvent> Poll() override { return std::exchange(events, {}); }
  bool full = false;
  int64_t records = 0;
  std::vector<KeptEvent> events;
};

void Run(FuzzInput& in) {
  HandClock clock;
  Silence silence;
  Reader transport(clock);
  CountingKeeper keeper;
  Serial serial;
  const auto layout = *net::WireLayout::Create({{"a", 3, 0}, {"b", 2, 2}, {"c", 4, 0}});
  const auto optimizer = *train::Optimizer::Create(train::Sgd{.momentum = 0.9});
  ServerSetting setting{.job = "job",
                        .epoch = 1,
                        .welcome = {.model = "toy",
                                    .input = {1, 1, 1},
                                    .classes = 2,
                                    .rounds = 4,
                                    .batch = 8,
                                    .heartbeat_ms = 500,
                                    .worker_timeout_ms = 3000,
                                    .window_bytes = 64,
                                    .segment_bytes = 32},
                        .slice_floats = in.Pick(6),
                        .workers = 1 + in.Pick(2),
                        .max_workers = 3,
                        .round_deadline_ns = in.Pick(2) * 2000 * kNsPerMs,
                        .checkpoint_every = 2,
                        .max_norm = in.Coin() ? 10.0 : 0.0,
                        .learning_rate = 0.01};
  setting.welcome.model_hash[0] = std::byte{1};
  const int shards = 1 + in.Pick(2);
  setting.shards = shards;
  auto created = Server::Create(setting, {.layout = layout,
                                          .optimizer = optimizer,
                                          .transport = transport,
                                          .keeper = keeper,
                                          .parallel = serial,
                                          .clock = clock,
                                          .log = Logger(silence, LogLevel::kDebug)});
  MustHold(created.ok(), "the setting is good");
  Server& server = **created;
  for (float& value : server.first_values()) value = 0.5f;
  MustHold(server.Start().ok(), "it starts");
  server.Connected({.payload_bytes = 4096});

  net::RandomMessage random(in, layout);
  const std::string level = net::JobLevel("job", 0, shards);
  uint64_t sequence = 0;
  for (int step = 0; step < 200 && !in.empty(); ++step) {
    const std::vector<float> before(server.values().begin(), server.values().end());
    const int64_t records = keeper.records;
    const int64_t round = server.round();
    const std::string worker = in.Coin() ? "w1" : "w2";
    const net::Header header{.job = "job",
                             .shards = static_cast<uint16_t>(shards),
                             .epoch = 1,
                             .round = round,
                             .worker = worker,
                             .incarnation = 1};
    switch (in.Pick(10)) {
      case 0:
        clock.now += in.Take<uint16_t>() * kNsPerMs / 16;
        break;
      case 1: {
        const auto lane = static_cast<net::Lane>(in.Pick(4));
        server.Received(net::TopicOf(level, worker, lane),
                        net::Payload::CopyOf(in.Bytes(in.Take<uint8_t>())), in.Pick(8) == 0);
        break;
      }
      case 2:
        switch (in.Pick(4)) {
          case 0:
            server.Disconnected(Status::Unavailable("gone"));
            break;
          case 1:
            server.Connected({.payload_bytes = in.Take<uint16_t>()});
            break;
          case 2:
            keeper.full = in.Coin();
            break;
          default:
            break;
        }
        break;
      case 3: {  // joins as it should
        const std::string topic = net::TopicOf(level, worker, net::Lane::kControl);
        net::Hello hello{.model_hash = setting.welcome.model_hash, .batch = 4};
        server.Received(topic, net::Encode({header, hello}), false);
        net::Plan plan{.ticket = transport.tickets[worker]};
        server.Received(topic, net::Encode({header, plan}), false);
        break;
      }
      case 4:
      case 5: {  // sends its gradients as it should, or some of them
        const auto units = server.units();
        const net::FloatRange all = layout.Units(units.first, units.last);
        const int begin = in.Coin() ? 0 : in.Pick(static_cast<int>(all.size()));
        for (int64_t at = begin; at < all.size(); at += 8) {
          const std::vector<float> part(static_cast<size_t>(std::min<int64_t>(8, all.size() - at)),
                                        0.25f);
          net::Segment segment{.ticket = transport.tickets[worker],
                               .sequence = ++sequence,
                               .first_unit = static_cast<uint32_t>(units.first),
                               .last_unit = static_cast<uint32_t>(units.last),
                               .total = static_cast<uint64_t>(all.size()) * 4,
                               .offset = static_cast<uint64_t>(at) * 4,
                               .data = std::as_bytes(std::span(part))};
          server.Received(net::TopicOf(level, worker, net::Lane::kPush),
                          net::Encode({header, segment}), false);
        }
        break;
      }
      default: {
        const net::Message message = random.Take(header, transport.tickets[worker]);
        net::Lane lane = net::Lane::kControl;
        if (std::holds_alternative<net::Segment>(message.body)) lane = net::Lane::kPush;
        if (std::holds_alternative<net::Telemetry>(message.body)) lane = net::Lane::kTelemetry;
        server.Received(net::TopicOf(level, worker, lane), net::Encode(message), false);
      }
    }
    server.Tick();
    MustHold(server.round() >= round, "rounds do not go back");
    if (server.round() == round) {
      MustHold(
          std::memcmp(before.data(), server.values().data(), before.size() * sizeof(float)) == 0,
          "the model of a round does not change");
    } else {
      MustHold(keeper.records > 0, "a round has its records");
    }
    MustHold(keeper.records >= records, "records are only added");
    for (const float value : server.values()) MustHold(std::isfinite(value), "the model is finite");
    MustHold(server.status().workers.size() <= 2, "there are no workers but those two");
    if (!server.failure().ok()) return;
    MustHold(server.next_tick_ns() > clock.now, "what was to be done is done");
  }
  server.Leave();
}

}  // namespace
}  // namespace weft::ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::FuzzInput input(data, size);
  weft::ps::Run(input);
  return 0;
}
