// SPDX-License-Identifier: Apache-2.0
#include "tests/job/loopback_job.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/files/sha256.h"
#include "apps/job/job_model.h"
#include "cloud_ps/server.h"
#include "core/clock.h"
#include "core/hex_text.h"
#include "core/train/initialise.h"
#include "core/train/schedule.h"
#include "net/codec/codec.h"
#include "net/loopback/loopback_net.h"
#include "net/worker_session.h"
#include "sched/runtime/transfer_scheduler.h"
#include "tests/ps/server_driver.h"

namespace weft::apps {
namespace {

constexpr int64_t kUnitNs = kNsPerMs;           // what a unit computes, forward and backward each
constexpr int64_t kEnd = 1'000'000 * kNsPerMs;  // no job is to take so long
constexpr int64_t kBytesPerS = 1'250'000;       // 10 Mb/s
constexpr int64_t kSegmentBytes = 8 << 10;      // of which a round takes some thirty
constexpr const char* kJob = "digits";

// One of the net's ends: `Node` takes in what comes, then does what is due, and is called again
// when something will be.
template <typename Node>
class End final : public net::TransportEvents {
 public:
  End(net::LoopbackNet& net, std::function<bool(const std::string&)> listens)
      : net_(net), endpoint_(net.Join(std::move(listens), *this)) {}

  net::LoopbackNet::Endpoint& endpoint() { return *endpoint_; }
  void Carry(std::unique_ptr<Node> node) {
    node_ = std::move(node);
    endpoint_->Connect();
  }
  Node& node() { return *node_; }
  const Node& node() const { return *node_; }

  void Connected(const net::ConnectionLimits& limits) override {
    node_->Connected(limits);
    Tick();
  }
  void Disconnected(const Status& why) override { node_->Disconnected(why); }
  void Received(const std::string& topic, net::Payload payload, bool retained) override {
    node_->Received(topic, std::move(payload), retained);
    Tick();
  }
  void PublishProblem(const std::string&, const Status&) override {}

  void Tick() {
    node_->Tick();
    // What the keeper was given is kept by the next call.
    const int64_t next =
        std::clamp(node_->next_tick_ns(), net_.now_ns() + kNsPerMs / 10, net_.now_ns() + kNsPerMs);
    if (next_ns_ > net_.now_ns() && next_ns_ <= next) return;
    next_ns_ = next;
    net_.At(next, [this, next] {
      if (next_ns_ == next) Tick();
    });
  }

 private:
  net::LoopbackNet& net_;
  std::unique_ptr<net::LoopbackNet::Endpoint> endpoint_;
  std::unique_ptr<Node> node_;
  int64_t next_ns_ = 0;
};

// What the job is, to servers and workers alike.
struct SharedParts {
  SharedParts(const LenetJob& lenet, sched::Strategy chosen, int servers)
      : job(lenet),
        strategy(chosen),
        shards(servers),
        graph(lenet.Graph()),
        layout(*WireLayoutOf(graph)),
        optimizer(lenet.Optimizer()),
        net(LenetJob::kSeed, kSegmentBytes + net::kEnvelopeBytes + 4096) {
    net.SetFaults({.bytes_per_s = kBytesPerS});
  }

  void Pass(int64_t ns) {
    bool over = false;
    net.At(net.now_ns() + ns, [&over] { over = true; });
    while (!over) net.Step();
  }

  const LenetJob job;
  const sched::Strategy strategy;
  const int shards;
  const model::Graph graph;
  const net::WireLayout layout;
  const train::Optimizer optimizer;
  net::LoopbackNet net;
};

class ServerNode {
 public:
  ServerNode(SharedParts& parts, int shard)
      : end_(parts.net,
             [level = net::JobLevel(kJob, shard, parts.shards)](const std::string& topic) {
               const auto found = net::ParseTopic(topic);
               return found && found->job_level == level && found->lane != net::Lane::kPull;
             }) {
    const ps::ServerSetting setting{
        .job = kJob,
        .shard = shard,
        .shards = parts.shards,
        .welcome = {.model = "lenet5",
                    .input = {1, 28, 28},
                    .classes = 10,
                    .rounds = parts.job.rounds,
                    .batch = static_cast<uint32_t>(parts.job.batch),
                    .seed = LenetJob::kSeed,
                    .heartbeat_ms = 100,
                    .worker_timeout_ms = 3000,
                    .window_bytes = 8 * kSegmentBytes,
                    .segment_bytes = kSegmentBytes,
                    .model_hash = ArchitectureHash(parts.graph),
                    .strategy = std::string(sched::Name(parts.strategy))},
        .slice_floats = 5000,
        .whole_versions = parts.strategy != sched::Strategy::kWeave,
        .workers = parts.job.workers,
        .quorum = parts.job.workers,
        .learning_rate = LenetJob::kLearningRate,
        .schedule = *train::ParseSchedule("cosine")};
    std::unique_ptr<ps::Server> server =
        ps::Server::Create(setting, {.layout = parts.layout,
                                     .optimizer = parts.optimizer,
                                     .transport = end_.endpoint(),
                                     .keeper = keeper_,
                                     .parallel = serial_,
                                     .clock = parts.net.clock(),
                                     .log = Logger(log_, LogLevel::kWarning)})
            .value();
    train::Parameters first(parts.graph);
    train::Initialise(first, LenetJob::kSeed, serial_);
    UnitTensors(first).ToWire(server->units(), server->first_values());
    start_ = server->Start();
    end_.Carry(std::move(server));
  }

  Status status() const { return start_.ok() ? end_.node().failure() : start_; }

 private:
  ps::MemoryKeeper keeper_;
  ps::LogLines log_;
  Serial serial_;
  Status start_;
  End<ps::Server> end_;
};

// A worker's session as the scheduler sees it: waiting is stepping the net.
class WorkerNode final : public ParamChannel {
 public:
  WorkerNode(SharedParts& parts, int worker)
      : parts_(parts),
        worker_(worker),
        compute_(parts.job),
        tensors_(compute_.parameters()),
        end_(parts.net, [name = Name()](const std::string& topic) {
          const auto found = net::ParseTopic(topic);
          return found && found->worker == name && found->lane == net::Lane::kPull;
        }) {
    const net::WorkerSession::Setting setting{.job = kJob,
                                              .worker = Name(),
                                              .incarnation = 1,
                                              .shards = parts.shards,
                                              .model_hash = ArchitectureHash(parts.graph),
                                              .batch = static_cast<uint32_t>(parts.job.batch),
                                              .software = "test"};
    end_.Carry(std::make_unique<net::WorkerSession>(setting, parts.layout, end_.endpoint(),
                                                    parts.net.clock()));
    scheduler_.emplace(
        sched::TransferScheduler::Setting{
            .strategy = parts.strategy, .replan_rounds = 2, .message_bytes = kSegmentBytes},
        Units(), *this, parts.net.clock());
  }

  Status Train(int64_t round) {
    if (!Until([&] { return session().NextAttempt().has_value(); })) return Stuck(round);
    attempt_ = *session().NextAttempt();
    session().Begin(attempt_);
    const Result<train::StepReport> report = compute_.Step(worker_, round, *scheduler_);
    if (!report.ok()) return report.status();
    if (report->abandoned || attempt_.round != round) return Stuck(round);
    plans_ += scheduler_->report().planned;
    return Status::Ok();
  }

  // Of the last version.
  Result<std::string> Hash() {
    if (!Until([&] { return session().has_last_version(); })) return Stuck(parts_.job.rounds);
    for (int unit = 0; unit < parts_.layout.unit_count(); ++unit) Copy(unit, tensors_.Values(unit));
    return HexText(ModelHash(compute_.parameters()));
  }
  int plans() const { return plans_; }

  bool TakeUnit(int unit, std::span<float> parameters, std::span<float>) override {
    using State = net::WorkerSession::UnitState;
    Until([&] { return session().Look(attempt_, unit) != State::kWaiting; });
    if (session().Look(attempt_, unit) != State::kReady) return false;
    Copy(unit, parameters);
    parts_.Pass(kUnitNs);
    return true;
  }
  void Release(int unit, std::span<const float> gradients,
               std::span<const float> statistics) override {
    parts_.Pass(kUnitNs);
    session().Release(attempt_, unit, gradients, statistics, serial_);
    end_.Tick();
  }
  void Use(const TransferPlan& plan) override { session().Use(plan); }
  void TakeArrivals(std::vector<Arrival>& arrivals) override { session().TakeArrivals(arrivals); }
  std::vector<int64_t> SliceEnds() const override { return end_.node().SliceEnds(); }
  int64_t round_trip_ns() const override { return end_.node().round_trip_ns(); }

 private:
  std::string Name() const { return "w" + std::to_string(worker_); }
  net::WorkerSession& session() { return end_.node(); }

  std::vector<sched::TransferScheduler::Unit> Units() {
    std::vector<sched::TransferScheduler::Unit> units;
    for (int unit = 0; unit < parts_.layout.unit_count(); ++unit) {
      units.push_back({.name = parts_.layout.units()[static_cast<size_t>(unit)].name,
                       .parameters = tensors_.Values(unit),
                       .statistics = tensors_.Statistics(unit),
                       .gradients = compute_.network().Gradients(unit)});
    }
    return units;
  }

  void Copy(int unit, std::span<float> to) {
    std::ranges::copy(session().Parameters(unit), to.begin());
  }

  // Whether it came about.
  template <typename Condition>
  bool Until(const Condition& condition) {
    while (!condition() && session().failure().ok() && parts_.net.now_ns() < kEnd) {
      parts_.net.Step();
    }
    return condition();
  }

  Status Stuck(int64_t round) {
    return Status::Unavailable(Name() + " does not get on with round " + std::to_string(round) +
                               ": " + session().failure().message());
  }

  SharedParts& parts_;
  const int worker_;
  LenetCompute compute_;
  UnitTensors tensors_;
  Serial serial_;
  End<net::WorkerSession> end_;
  std::optional<sched::TransferScheduler> scheduler_;  // once there is a session to use
  net::WorkerSession::Attempt attempt_;
  int plans_ = 0;
};

}  // namespace

Result<LoopbackOutcome> RunOverLoopback(const LenetJob& job, sched::Strategy strategy, int shards) {
  SharedParts parts(job, strategy, shards);
  std::vector<std::unique_ptr<ServerNode>> servers;
  for (int s = 0; s < shards; ++s) servers.push_back(std::make_unique<ServerNode>(parts, s));
  std::vector<std::unique_ptr<WorkerNode>> workers;
  for (int w = 0; w < job.workers; ++w) workers.push_back(std::make_unique<WorkerNode>(parts, w));
  for (int64_t round = 0; round < job.rounds; ++round) {
    for (const auto& worker : workers) {
      if (Status status = worker->Train(round); !status.ok()) return status;
    }
  }
  LoopbackOutcome outcome;
  for (const auto& worker : workers) {
    Result<std::string> hash = worker->Hash();
    if (!hash.ok()) return hash.status();
    outcome.hashes.push_back(*hash);
    outcome.plans.push_back(worker->plans());
  }
  for (const auto& server : servers) {
    if (Status status = server->status(); !status.ok()) return status;
  }
  return outcome;
}

}  // namespace weft::apps
