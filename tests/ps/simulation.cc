// SPDX-License-Identifier: Apache-2.0
#include "tests/ps/simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "cloud_ps/server.h"
#include "core/clock.h"
#include "core/rng.h"
#include "net/codec/codec.h"
#include "net/loopback/loopback_net.h"
#include "net/worker_session.h"
#include "tests/ps/message_line.h"
#include "tests/ps/naive_model.h"
#include "tests/ps/simulated_job.h"
#include "tests/ps/virtual_keeper.h"

namespace weft::ps {
namespace {

using net::FloatRange;

constexpr int64_t kFaultsEnd = 40 * kNsPerSecond;
constexpr int64_t kEnd = 400 * kNsPerSecond;
constexpr int64_t kMostEvents = 400'000;

class SilentSink final : public LogSink {
 public:
  void Write(LogLevel, std::string_view) override {}
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : job_(seed),
        model_(job_),
        rng_(seed, 2),
        net_(seed, job_.segment_bytes + net::kEnvelopeBytes + 4096),
        log_(sink_, LogLevel::kWarning) {
    servers_.resize(static_cast<size_t>(job_.shards));
    workers_.resize(static_cast<size_t>(job_.workers));
  }

  SimulationResult Run() {
    net_.tap = [this](const std::string& topic, const net::Payload& payload) {
      if (trace_) Trace(topic, payload);
      if (rng_.Fraction() < 0.02 && recorded_.size() < 200) recorded_.emplace_back(topic, payload);
    };
    for (int s = 0; s < job_.shards; ++s) StartServer(s);
    for (int w = 0; w < job_.workers; ++w) StartWorker(w);
    PlanFaults();
    int64_t events = 0;
    while (result_.violation.empty() && !Ended() && net_.Step()) {
      if (net_.now_ns() > kEnd || ++events > kMostEvents) {
        Violate("the job did not end after the faults had (I7); " + Where());
      }
    }
    if (result_.violation.empty()) CheckEnd();
    result_.event_hash = net_.event_hash();
    result_.delivered = net_.delivered();
    result_.virtual_ns = net_.now_ns();
    return result_;
  }

 private:
  struct ServerNode final : net::TransportEvents {
    Simulation* sim = nullptr;
    int shard = 0;
    VirtualDisk disk = {};
    std::unique_ptr<VirtualKeeper> keeper;
    std::unique_ptr<net::LoopbackNet::Endpoint> endpoint;
    std::unique_ptr<Server> server;
    Serial serial;
    int64_t last_round = 0;
    bool finished = false;
    uint64_t life = 0;  // counts starts, so that what was planned for an earlier one is dropped
    int64_t tick_ns = 0;

    void Connected(const net::ConnectionLimits& l) override { server->Connected(l), After(); }
    void Disconnected(const Status& s) override { server->Disconnected(s), After(); }
    void Received(const std::string& t, net::Payload p, bool r) override {
      server->Received(t, std::move(p), r);
      After();
    }
    void PublishProblem(const std::string&, const Status&) override {}
    void After() { sim->AfterServer(*this); }
  };

  struct WorkerNode final : net::TransportEvents {
    Simulation* sim = nullptr;
    int index = 0;
    uint64_t life = 0;
    int64_t tick_ns = 0;
    std::unique_ptr<net::LoopbackNet::Endpoint> endpoint;
    std::unique_ptr<net::WorkerSession> session;
    // The step under way.
    std::optional<net::WorkerSession::Attempt> attempt;
    int next_unit = 0;
    std::vector<float> values;
    std::vector<float> gradients;
    bool backward = false;

    void Connected(const net::ConnectionLimits& l) override { session->Connected(l), After(); }
    void Disconnected(const Status& s) override { session->Disconnected(s), After(); }
    void Received(const std::string& t, net::Payload p, bool r) override {
      session->Received(t, std::move(p), r);
      After();
    }
    void PublishProblem(const std::string&, const Status&) override {}
    void After() { sim->AfterWorker(*this); }
  };

  // -- servers

  void StartServer(int shard) {
    std::unique_ptr<ServerNode>& slot = servers_[static_cast<size_t>(shard)];
    const bool first = slot == nullptr;
    if (first) slot = std::make_unique<ServerNode>();
    ServerNode& node = *slot;
    node.sim = this;
    node.shard = shard;
    const uint64_t life = ++node.life;
    node.keeper = std::make_unique<VirtualKeeper>(
        node.disk, net_, rng_,
        [this, shard](const JournalRecord& record) {
          ++result_.rounds_recorded;
          const std::string wrong = model_.Close(shard, record);
          if (!wrong.empty()) Violate(wrong + ", round " + std::to_string(record.round));
        },
        [this, &node, life] {
          if (node.life == life && node.server) AfterServer(node);
        });
    const std::string level = net::JobLevel("job", shard, job_.shards);
    node.endpoint = net_.Join(
        [level](const std::string& topic) {
          const auto parts = net::ParseTopic(topic);
          return parts && parts->job_level == level && parts->lane != net::Lane::kPull;
        },
        node);
    ServerSetting setting{.job = "job",
                          .shard = shard,
                          .shards = job_.shards,
                          .epoch = ++node.disk.epoch,
                          .welcome = {.model = "toy",
                                      .input = {1, 1, 1},
                                      .classes = 2,
                                      .rounds = job_.rounds,
                                      .batch = 8,
                                      .heartbeat_ms = 500,
                                      .worker_timeout_ms = 3000,
                                      .window_bytes = static_cast<uint64_t>(job_.window_bytes),
                                      .segment_bytes = static_cast<uint64_t>(job_.segment_bytes),
                                      .model_hash = job_.hash},
                          .slice_floats = job_.slice_floats,
                          .whole_versions = job_.whole_versions,
                          .workers = job_.workers,
                          .quorum = job_.quorum,
                          .round_deadline_ns = job_.deadline_ns,
                          .checkpoint_every = job_.checkpoint_every,
                          .learning_rate = 0.05};
    auto server = Server::Create(setting, {.layout = *job_.layout,
                                           .optimizer = *job_.optimizer,
                                           .transport = *node.endpoint,
                                           .keeper = *node.keeper,
                                           .parallel = node.serial,
                                           .clock = net_.clock(),
                                           .log = log_});
    if (!server.ok()) return Violate("no server: " + server.status().message());
    node.server = std::move(*server);
    const FloatRange part = job_.layout->Units(model_.units(shard).first, model_.units(shard).last);
    if (node.disk.has_snapshot) {
      const Recovery recovery = node.server->recovery();
      Status status = recovery.snapshot({.round = node.disk.round,
                                         .values = node.disk.values,
                                         .optimizer_state = node.disk.state,
                                         .older_values = node.disk.older});
      for (const DiskRecord& r : node.disk.records) {
        if (status.ok()) {
          status = recovery.record({.round = r.round,
                                    .slice = r.slice,
                                    .mean = r.mean,
                                    .contributions = r.contributions});
        }
      }
      if (!status.ok()) return Violate("no recovery: " + status.message());
    } else {
      for (int64_t i = 0; i < part.size(); ++i) {
        node.server->first_values()[static_cast<size_t>(i)] =
            NaiveModel::FirstValue(part.begin + i);
      }
    }
    if (const Status status = node.server->Start(); !status.ok()) {
      return Violate("no start: " + status.message());
    }
    std::vector<FloatRange> closed;
    const int64_t open = node.disk.OpenRound(part.size(), &closed);
    if (node.server->round() != open) {
      return Violate("the server came back at round " + std::to_string(node.server->round()) +
                     " and the disk has " + std::to_string(open) + " (I2)");
    }
    if (!first) model_.GoBack(shard, open, closed);
    node.last_round = node.server->round();
    node.endpoint->Connect();
  }

  void CrashServer(int shard) {
    ServerNode& node = *servers_[static_cast<size_t>(shard)];
    if (!node.server || node.finished) return;
    ++result_.server_crashes;
    ++node.life;
    node.endpoint.reset();
    node.keeper->Crash();
    node.server.reset();
    node.keeper.reset();
    net_.At(net_.now_ns() + rng_.Between(1, 4000) * kNsPerMs, [this, shard] {
      if (!servers_[static_cast<size_t>(shard)]->server) StartServer(shard);
    });
  }

  void AfterServer(ServerNode& node) {
    node.server->Tick();
    CheckAsleep("a server", node.server->next_tick_ns());
    if (!node.server->failure().ok()) {
      return Violate("the server gave up: " + node.server->failure().message());
    }
    if (node.server->round() < node.last_round) return Violate("a committed round was undone (I2)");
    if (node.server->round() > node.last_round) {
      node.last_round = node.server->round();
      const std::string wrong = model_.Check(node.shard, node.last_round, node.server->values());
      if (!wrong.empty()) return Violate(wrong);
    }
    if (node.server->done() && !node.finished) {
      node.finished = true;
      // It lingers for those who did not hear, then goes home.
      net_.At(net_.now_ns() + 60 * kNsPerSecond, [this, &node] {
        if (node.server && Ended()) node.endpoint->Disconnect(false);
      });
    }
    Schedule(node, node.server->next_tick_ns(), [this, &node] {
      if (node.server) AfterServer(node);
    });
  }

  // -- workers

  void StartWorker(int w) {
    std::unique_ptr<WorkerNode>& slot = workers_[static_cast<size_t>(w)];
    if (slot == nullptr) slot = std::make_unique<WorkerNode>();
    WorkerNode& node = *slot;
    node.sim = this;
    node.index = w;
    ++node.life;
    node.attempt.reset();
    node.backward = false;
    const std::string name = SimulatedJob::WorkerName(w);
    node.endpoint = net_.Join(
        [name](const std::string& topic) {
          const auto parts = net::ParseTopic(topic);
          return parts && parts->worker == name && parts->lane == net::Lane::kPull;
        },
        node);
    const net::WorkerSession::Setting setting{.job = "job",
                                              .worker = name,
                                              .incarnation = rng_.Next() | 1,
                                              .shards = job_.shards,
                                              .model_hash = job_.hash,
                                              .batch = job_.batch[static_cast<size_t>(w)],
                                              .software = "simulation"};
    node.session =
        std::make_unique<net::WorkerSession>(setting, *job_.layout, *node.endpoint, net_.clock());
    for (int s = 0; s < job_.shards; ++s) {
      node.endpoint->SetWill(
          net::TopicOf(net::JobLevel("job", s, job_.shards), name, net::Lane::kControl),
          net::WorkerSession::LastWill(setting, s));
    }
    node.endpoint->Connect();
  }

  void CrashWorker(int w) {
    WorkerNode& node = *workers_[static_cast<size_t>(w)];
    if (!node.session || node.session->done()) return;
    ++result_.worker_crashes;
    ++node.life;
    node.endpoint.reset();
    node.session.reset();
    net_.At(net_.now_ns() + rng_.Between(1, 3000) * kNsPerMs, [this, w] {
      if (!workers_[static_cast<size_t>(w)]->session) StartWorker(w);
    });
  }

  void AfterWorker(WorkerNode& node) {
    node.session->Tick();
    CheckAsleep("a worker", node.session->next_tick_ns());
    if (!node.session->failure().ok()) {
      return Violate("a worker gave up: " + node.session->failure().message());
    }
    if (node.session->done()) node.session->Leave("the job is done");
    Compute(node);
    Schedule(node, node.session->next_tick_ns(), [this, &node] {
      if (node.session) AfterWorker(node);
    });
  }

  void Compute(WorkerNode& node) {
    if (node.backward) return;
    if (!node.attempt) {
      node.attempt = node.session->NextAttempt();
      if (!node.attempt) return;
      node.session->Begin(*node.attempt);
      if (rng_.Between(1, 100) <= job_.replan_percent) node.session->Use(AnyPlan());
      node.next_unit = 0;
      node.values.assign(static_cast<size_t>(job_.layout->floats()), 0.0f);
    }
    while (node.next_unit < job_.layout->unit_count()) {
      const auto state = node.session->Look(*node.attempt, node.next_unit);
      if (state == net::WorkerSession::UnitState::kWaiting) return;
      if (state == net::WorkerSession::UnitState::kGone) {
        node.attempt.reset();
        return Again(node);
      }
      const auto copy = [&](std::span<const float> from, FloatRange to) {
        std::copy(from.begin(), from.end(), node.values.begin() + to.begin);
      };
      copy(node.session->Parameters(node.next_unit), job_.layout->Parameters(node.next_unit));
      copy(node.session->Statistics(node.next_unit), job_.layout->Statistics(node.next_unit));
      ++node.next_unit;
    }
    node.gradients = job_.Gradients(node.values, node.index, node.attempt->round);
    node.backward = true;
    node.next_unit = job_.layout->unit_count() - 1;
    Backward(node);
  }

  TransferPlan AnyPlan() {
    const auto ends = [&] {
      std::vector<int64_t> cuts;
      const int64_t step = rng_.Between(1, job_.layout->floats());
      for (int64_t end = 0; end < job_.layout->floats();) {
        end = std::min(end + rng_.Between(1, step), job_.layout->floats());
        cuts.push_back(end);
      }
      return cuts;
    };
    TransferPlan plan{.push_ends = ends(), .pull_ends = ends()};
    if (rng_.Between(0, 1) == 0) return plan;
    for (size_t i = 0; i < plan.push_ends.size(); ++i) {
      plan.push_turns.push_back(rng_.Between(0, 9));
    }
    return plan;
  }

  void Backward(WorkerNode& node) {
    net_.At(net_.now_ns() + rng_.Between(1, 60) * kNsPerMs, [this, &node, life = node.life] {
      if (node.life != life || !node.session) return;
      const auto part = [&](FloatRange range) {
        return std::span<const float>(node.gradients)
            .subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
      };
      node.session->Release(*node.attempt, node.next_unit,
                            part(job_.layout->Parameters(node.next_unit)),
                            part(job_.layout->Statistics(node.next_unit)), serial_);
      if (--node.next_unit >= 0) return Backward(node);
      node.backward = false;
      node.attempt.reset();
      AfterWorker(node);
    });
  }

  void Again(WorkerNode& node) {
    net_.At(net_.now_ns() + 1, [this, &node, life = node.life] {
      if (node.life == life && node.session) AfterWorker(node);
    });
  }

  // -- faults

  void PlanFaults() {
    net::LoopbackFaults faults;
    const auto maybe = [&](double most) {
      return rng_.Between(0, 2) == 0 ? rng_.Fraction() * most : 0.0;
    };
    faults.lose = maybe(0.3);
    faults.twice = maybe(0.3);
    faults.damage = maybe(0.01);
    faults.least_delay_ns = kNsPerMs;
    faults.most_delay_ns =
        rng_.Between(0, 1) == 0 ? 2 * kNsPerMs : rng_.Between(2, 1500) * kNsPerMs;
    if (rng_.Between(0, 3) == 0) faults.queue_limit = static_cast<size_t>(rng_.Between(2, 20));
    net_.SetFaults(faults);
    const int64_t count = rng_.Between(0, 12);
    for (int64_t i = 0; i < count; ++i) {
      net_.At(net_.now_ns() + rng_.Between(0, kFaultsEnd / kNsPerMs) * kNsPerMs,
              [this] { OneFault(); });
    }
    net_.At(kFaultsEnd, [this] {
      net_.SetFaults({});
      for (const auto& node : servers_) node->disk.full = false;
    });
  }

  void OneFault() {
    if (net_.now_ns() >= kFaultsEnd) return;
    const int shard = static_cast<int>(rng_.Between(0, job_.shards - 1));
    const int worker = static_cast<int>(rng_.Between(0, job_.workers - 1));
    ServerNode& server = *servers_[static_cast<size_t>(shard)];
    WorkerNode& node = *workers_[static_cast<size_t>(worker)];
    switch (rng_.Between(0, 8)) {
      case 0:
        return CrashServer(shard);
      case 1:
        return CrashWorker(worker);
      case 2:
        return net_.RestartBroker(rng_.Between(1, 3000) * kNsPerMs);
      case 3:
        return net_.FreezeBroker(net_.now_ns() + rng_.Between(1, 15000) * kNsPerMs);
      case 4: {  // a link that is dead and does not say so
        if (!node.endpoint) return;
        node.endpoint->Cut(true);
        net_.At(net_.now_ns() + rng_.Between(1, 8000) * kNsPerMs, [&node, life = node.life] {
          if (node.life == life && node.endpoint) node.endpoint->Cut(false);
        });
        return;
      }
      case 5: {
        server.disk.full = true;
        net_.At(net_.now_ns() + rng_.Between(1, 8000) * kNsPerMs,
                [&server] { server.disk.full = false; });
        return;
      }
      case 6: {  // someone repeats what was said before
        for (int64_t i = rng_.Between(1, 30); i > 0 && !recorded_.empty(); --i) {
          const auto [topic, payload] = recorded_[static_cast<size_t>(
              rng_.Between(0, static_cast<int64_t>(recorded_.size()) - 1))];
          if (node.endpoint) node.endpoint->Publish(topic, payload);
        }
        return;
      }
      case 7:  // a connection that carries nothing more to one of us
        if (rng_.Between(0, 1) == 0) {
          if (node.endpoint) node.endpoint->Deafen();
        } else if (server.endpoint) {
          server.endpoint->Deafen();
        }
        return;
      default: {  // and someone talks nonsense
        if (!node.endpoint) return;
        std::vector<std::byte> noise(static_cast<size_t>(rng_.Between(0, 200)));
        for (std::byte& b : noise) b = static_cast<std::byte>(rng_.Between(0, 255));
        node.endpoint->Publish("weft/" + net::JobLevel("job", shard, job_.shards) + "/evil/push",
                               net::Payload::CopyOf(noise));
        return;
      }
    }
  }

  // -- the end

  bool Ended() const {
    return std::all_of(servers_.begin(), servers_.end(),
                       [](const auto& s) { return s->server && s->finished; }) &&
           std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& w) { return w->session && w->session->done(); });
  }

  void CheckEnd() {
    if (job_.strict) {
      // I3: with everybody in every round there is one result, whatever happened on the way.
      NaiveModel undisturbed(job_);
      for (int64_t round = 0; round < job_.rounds; ++round) undisturbed.CloseRound();
      for (const auto& node : servers_) {
        const std::string wrong =
            undisturbed.Check(node->shard, job_.rounds, node->server->values());
        if (!wrong.empty()) return Violate("not the undisturbed result: " + wrong);
      }
    }
    for (const auto& node : workers_) {
      // I8: what was sent has an answer, or was overtaken.
      const net::SegmentSender::Ledger ledger = node->session->ledger();
      if (ledger.acknowledged + ledger.refused + ledger.expired > ledger.queued) {
        return Violate("a segment has two verdicts (I8)");
      }
    }
  }

  // A node asks after every event; of its ticks only the earliest is planned. Never at once, so
  // that time goes on.
  template <typename Node, typename What>
  void Schedule(Node& node, int64_t ns, What what) {
    if (ns == INT64_MAX) return;
    ns = std::max(ns, net_.now_ns() + kNsPerMs);
    if (node.tick_ns > net_.now_ns() && node.tick_ns <= ns) return;
    node.tick_ns = ns;
    net_.At(ns, [&node, ns, what] {
      if (node.tick_ns != ns) return;  // an earlier one took its place
      node.tick_ns = 0;
      what();
    });
  }

  // I10: what was to be done is done, or waits for something else than time.
  void CheckAsleep(const std::string& who, int64_t next_tick_ns) {
    if (next_tick_ns <= net_.now_ns()) Violate(who + " turns without end (I10); " + Where());
  }

  void Violate(const std::string& what) {
    if (result_.violation.empty()) result_.violation = what;
  }

  void Trace(const std::string& topic, const net::Payload& payload) const {
    const auto decoded = net::Decode(payload.bytes());
    if (const auto* message = std::get_if<net::Message>(&decoded)) {
      std::printf("%9.3f %s %s\n", static_cast<double>(net_.now_ns()) * 1e-9, topic.c_str(),
                  LineOf(*message).c_str());
    }
  }

  std::string Where() const {
    std::string text;
    for (const auto& node : servers_) {
      if (!node->server) {
        text += " [no server]";
        continue;
      }
      const ServerStatus s = node->server->status();
      text += " [server " + std::to_string(node->shard) + " round " + std::to_string(s.round) +
              " of " + std::to_string(s.rounds) + " slices " + std::to_string(s.slices_closed) +
              "/" + std::to_string(s.slices) + " needs " + std::to_string(s.needed) +
              (s.waits_for_disk ? " waits for disk" : "") + ":";
      for (const WorkerStatus& w : s.workers) {
        text += " " + w.name + (w.in_round ? "+" : "-") + (w.complete ? "c" : "");
      }
      text += "]";
    }
    for (const auto& node : workers_) {
      if (!node->session) {
        text += " (no worker)";
        continue;
      }
      const auto ledger = node->session->ledger();
      text += " (" + SimulatedJob::WorkerName(node->index) +
              (node->session->joined() ? " joined" : "") + (node->session->done() ? " done" : "") +
              " attempt " +
              (node->attempt ? std::to_string(node->attempt->round) + " unit " +
                                   std::to_string(node->next_unit)
                             : "none") +
              " q" + std::to_string(ledger.queued) + " a" + std::to_string(ledger.acknowledged) +
              " r" + std::to_string(ledger.refused) + " x" + std::to_string(ledger.expired) + ")";
    }
    return text;
  }

  const bool trace_ = std::getenv("WEFT_TRACE") != nullptr;  // shows what everybody says
  SimulatedJob job_;
  NaiveModel model_;
  Rng rng_;
  net::LoopbackNet net_;
  Serial serial_;
  SilentSink sink_;
  Logger log_;
  std::vector<std::pair<std::string, net::Payload>> recorded_;
  std::vector<std::unique_ptr<ServerNode>> servers_;
  std::vector<std::unique_ptr<WorkerNode>> workers_;
  SimulationResult result_;
};

}  // namespace

SimulationResult Simulate(uint64_t seed) { return Simulation(seed).Run(); }

}  // namespace weft::ps
