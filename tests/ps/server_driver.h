// SPDX-License-Identifier: Apache-2.0
// One server, driven message by message: what it says is recorded, its disk is memory, and time
// passes when the test says so. The model is of three units, 5, 7 + 3 and 4 floats.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud_ps/server.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/parallel.h"
#include "net/transport.h"

namespace weft::ps {

struct HandClock final : Clock {
  int64_t NowNs() const override { return now; }
  int64_t now = 1'000'000'000;
};

struct LogLines final : LogSink {
  void Write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  int Count(std::string_view word) const;
  std::vector<std::string> lines;
};

// Done at once, known at the next Poll.
class MemoryKeeper final : public Keeper {
 public:
  struct Kept {
    int64_t round = 0;
    net::FloatRange slice = {};
    std::vector<float> mean = {};
    std::vector<Contribution> contributions = {};
  };
  struct State {
    int64_t round = 0;
    std::vector<float> values = {};
    std::vector<float> optimizer = {};
    std::vector<float> older = {};
  };

  void Append(const JournalRecord& record) override;
  void Checkpoint(const Snapshot& snapshot) override;
  std::vector<KeptEvent> Poll() override;

  bool full = false;
  bool slow = false;  // nothing is finished until it is not
  // Every state there was and every record after it, in order.
  std::vector<State> states;
  std::vector<Kept> records;
  size_t records_at_state = 0;  // how many of them came before the last state

 private:
  bool broken_ = false;
  std::vector<KeptEvent> events_;
};

class ServerDriver {
 public:
  static constexpr int64_t kFloats = 19;

  // What most tests want: five rounds, one slice, begins with one worker.
  static ServerSetting Usual();
  static net::ModelHash Hash();
  // The model at the beginning, and what worker `name` makes of round `round`.
  static float FirstValue(int64_t place);
  static std::vector<float> Gradients(const std::string& name, int64_t round);

  explicit ServerDriver(const ServerSetting& setting = Usual());
  // Goes on from `state` and the first `records` of what `before` kept.
  ServerDriver(const ServerSetting& setting, const MemoryKeeper& before, size_t records);
  ~ServerDriver();

  Server& server() { return *server_; }
  HandClock clock;
  LogLines log;
  MemoryKeeper keeper;

  std::vector<float> values() const;
  // By 100 ms at a time, as a server is called.
  void Pass(int64_t ns);

  // ---- what a worker says
  net::Header HeaderOf(const std::string& worker, int64_t round, uint64_t incarnation = 1) const;
  void Say(const std::string& worker, net::Lane lane, const net::Message& message);
  void SayBytes(const std::string& topic, std::span<const std::byte> bytes, bool retained = false);
  void Hello(const std::string& worker, uint64_t incarnation = 1, uint32_t batch = 8);
  // Hello, and a Plan with what the Welcome said. The round it takes part in.
  int64_t Join(const std::string& worker, uint64_t incarnation = 1, uint32_t batch = 8);
  void Leave(const std::string& worker, uint64_t incarnation = 1);
  // Units first..last of `floats` [19], from float `begin` of them to `end`.
  net::Segment SegmentOf(const std::string& worker, uint64_t sequence,
                         const std::vector<float>& floats, int first, int last, int64_t begin,
                         int64_t end) const;
  // All of its gradients of a round, in segments of up to 16 floats.
  std::vector<net::Segment> Segments(const std::string& worker,
                                     const std::vector<float>& floats) const;
  void PushSegment(const std::string& worker, int64_t round, const net::Segment& segment,
                   uint64_t incarnation = 1);
  void Push(const std::string& worker, int64_t round, uint64_t incarnation = 1);

  // ---- what the server said to it since the last call
  std::vector<net::Message> Heard(const std::string& worker);
  template <typename Kind>
  std::vector<Kind> HeardOf(const std::string& worker) {
    std::vector<Kind> heard;
    for (const net::Message& message : Heard(worker)) {
      if (const auto* body = std::get_if<Kind>(&message.body)) heard.push_back(*body);
    }
    return heard;
  }
  // Whom the broker was asked to shut out since the last ForgetHeard.
  std::vector<std::string> ShutOut() const;
  void ForgetHeard() { paper_.sheets.clear(); }
  // How often the server asked for another connection.
  int renewed() const { return paper_.renewed; }

 private:
  struct Paper final : net::Transport {
    struct Sheet {
      std::string topic;
      net::Payload payload;
    };
    explicit Paper(const Clock& clock) : clock_(clock) {}
    void Publish(const std::string& topic, net::Payload payload) override {
      sheets.push_back({topic, std::move(payload)});
    }
    void Poll(net::TransportEvents&, int64_t) override {}
    void Renew(const std::string&) override { ++renewed; }
    void Wake() override {}
    int64_t last_alive_ns() const override { return clock_.NowNs(); }
    std::vector<Sheet> sheets;
    int renewed = 0;
    const Clock& clock_;
  };

  void Create(const ServerSetting& setting);

  ServerSetting setting_;
  net::WireLayout layout_;
  train::Optimizer optimizer_;
  Serial serial_;
  Paper paper_;
  std::vector<net::Payload> kept_;  // what messages that were handed out look into
  std::map<std::string, uint64_t> tickets_;
  std::unique_ptr<Server> server_;
};

// Whether they are the same to the last bit.
bool SameBits(std::span<const float> a, std::span<const float> b);

}  // namespace weft::ps
