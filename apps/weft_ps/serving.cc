// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/serving.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <thread>

#include "apps/files/disk_keeper.h"
#include "apps/files/model_weights.h"
#include "apps/files/sha256.h"
#include "apps/job/job_model.h"
#include "apps/job/running_mark.h"
#include "apps/job/service_manager.h"
#include "apps/weft_ps/metrics_port.h"
#include "apps/weft_ps/served_job.h"
#include "apps/weft_ps/serving_display.h"
#include "cloud_ps/broker/broker_config.h"
#include "cloud_ps/job_claim.h"
#include "cloud_ps/server.h"
#include "core/clock.h"
#include "core/hex_text.h"
#include "core/thread_pool.h"
#include "core/train/initialise.h"
#include "net/mqtt/mqtt_transport.h"
#include "sched/strategy.h"

namespace weft::apps {
namespace {

// For people who look for a server.
std::string PlaceOfThisProcess() {
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) return fmt::format("process {}", getpid());
  return fmt::format("process {} on {}", getpid(), host);
}

// All that one server is made of, in the order it is built.
class Serving {
 public:
  Serving(const ServeFlags& flags, Console& console, const std::atomic<bool>& stop)
      : flags_(flags), console_(console), stop_(stop) {}

  Status Run() {
    for (auto part : {&Serving::BuildModel, &Serving::PrepareOptimizer, &Serving::PrepareSetting,
                      &Serving::OpenState, &Serving::Connect, &Serving::StartServer}) {
      if (Status status = (this->*part)(); !status.ok()) return status;
    }
    return Loop();
  }

 private:
  Status BuildModel() {
    Result<model::Graph> graph = BuildServedModel(flags_);
    if (!graph.ok()) return graph.status();
    graph_ = std::make_unique<model::Graph>(std::move(graph).value());
    parameters_ = std::make_unique<train::Parameters>(*graph_);
    Result<net::WireLayout> layout = WireLayoutOf(*graph_);
    if (!layout.ok()) return layout.status();
    layout_ = std::make_unique<net::WireLayout>(std::move(layout).value());
    const int threads = flags_.threads > 0
                            ? flags_.threads
                            : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    parallel_ = std::make_unique<ThreadPool>(threads);
    return Status::Ok();
  }

  Status PrepareOptimizer() {
    Result<train::Optimizer> optimizer = MakeOptimizer(flags_.learning);
    if (!optimizer.ok()) return optimizer.status();
    optimizer_ = std::make_unique<train::Optimizer>(std::move(optimizer).value());
    Result<train::Schedule> schedule = train::ParseSchedule(flags_.learning.schedule);
    if (!schedule.ok()) return schedule.status();
    setting_.schedule = *schedule;
    return Status::Ok();
  }

  Status PrepareSetting() {
    Result<Share> shard = ParseShard(flags_);
    if (!shard.ok()) return shard.status();
    Result<MessageSizes> sizes = ParseSizes(flags_, *layout_);
    if (!sizes.ok()) return sizes.status();
    if (flags_.worker_timeout_s < 2 * flags_.heartbeat_s) {
      return Status::InvalidInput("--worker-timeout must be at least twice --heartbeat");
    }
    Result<sched::Strategy> strategy =
        sched::ParseStrategy(flags_.strategy, sched::JobStrategies());
    if (!strategy.ok()) return strategy.status().WithContext("--strategy");
    const Shape& input = graph_->input_shape();
    setting_.job = flags_.job;
    setting_.shard = shard->index;
    setting_.shards = shard->count;
    setting_.welcome = {.model = flags_.model,
                        .input = {static_cast<uint32_t>(input[0]), static_cast<uint32_t>(input[1]),
                                  static_cast<uint32_t>(input[2])},
                        .classes = static_cast<uint32_t>(graph_->output_shape().elements()),
                        .rounds = flags_.rounds,
                        .batch = static_cast<uint32_t>(flags_.batch),
                        .seed = flags_.learning.seed,
                        .label_smoothing = flags_.learning.label_smoothing,
                        .heartbeat_ms = static_cast<uint32_t>(flags_.heartbeat_s * 1000),
                        .worker_timeout_ms = static_cast<uint32_t>(flags_.worker_timeout_s * 1000),
                        .window_bytes = static_cast<uint64_t>(sizes->window),
                        .segment_bytes = static_cast<uint64_t>(sizes->segment),
                        .model_hash = ArchitectureHash(*graph_),
                        .strategy = flags_.strategy,
                        .replan_rounds = static_cast<uint32_t>(flags_.replan_every)};
    setting_.slice_floats = sizes->slice_floats;
    // The others are run as they were published: nothing goes out before all is summed.
    setting_.whole_versions = *strategy != sched::Strategy::kWeave;
    setting_.workers = flags_.workers;
    setting_.quorum = flags_.quorum > 0 ? flags_.quorum : flags_.workers;
    setting_.max_workers = flags_.max_workers;
    setting_.round_deadline_ns = static_cast<int64_t>(flags_.round_deadline_s * 1e9);
    setting_.checkpoint_every = flags_.checkpoint_every;
    setting_.max_norm = flags_.max_norm;
    setting_.learning_rate = flags_.learning.learning_rate;
    return Status::Ok();
  }

  // Whatever must be the same for a server to go on with what another left.
  std::string Fingerprint() const {
    return fmt::format(
        "job={} model={} {} shard={} rounds={} optimizer={} lr={} momentum={} nesterov={} "
        "weight_decay={} smoothing={} schedule={} seed={} init={}",
        flags_.job, flags_.model, HexText(setting_.welcome.model_hash).substr(0, 16), flags_.shard,
        flags_.rounds, flags_.learning.optimizer, flags_.learning.learning_rate,
        flags_.learning.momentum, flags_.learning.nesterov, flags_.learning.weight_decay,
        flags_.learning.label_smoothing, flags_.learning.schedule, flags_.learning.seed,
        flags_.init);
  }

  // Also where the trained model is to go, which may be in the state's folder: days later it would
  // be too late to hear that there is no such place.
  Status OpenState() {
    Result<net::WireLayout::UnitRange> units = layout_->Shard(setting_.shard, setting_.shards);
    if (!units.ok()) return units.status();
    const int64_t floats = layout_->Units(units->first, units->last).size();
    Result<std::unique_ptr<DiskKeeper>> keeper =
        DiskKeeper::Open({.folder = flags_.state,
                          .floats = floats,
                          .state_floats = floats * optimizer_->state_per_parameter(),
                          .fingerprint = Fingerprint(),
                          .wake = [this] {
                            if (net::MqttTransport* transport = wakes_) transport->Wake();
                          }});
    if (!keeper.ok()) return keeper.status();
    keeper_ = std::move(keeper).value();
    if (!flags_.save.empty()) {
      if (Status status = CheckPlace(flags_.save); !status.ok()) {
        return status.WithContext("--save");
      }
    }
    Result<uint64_t> epoch = keeper_->NextEpoch();
    if (!epoch.ok()) return epoch.status();
    setting_.epoch = *epoch;
    return Status::Ok();
  }

  Status Connect() {
    Result<net::MqttSetting> broker = BrokerSetting(flags_.broker);
    if (!broker.ok()) return broker.status();
    const std::string level = net::JobLevel(setting_.job, setting_.shard, setting_.shards);
    instance_ = RandomNumber();
    // The broker is not to give the place of one server to another: they settle that themselves.
    broker->client_id = fmt::format("ps-{}-{:016x}", level, instance_);
    broker->username = ps::ServerUser(setting_.shard, setting_.shards);
    broker->subscriptions = {net::ServersTopic(level)};
    for (const net::Lane lane : {net::Lane::kControl, net::Lane::kPush, net::Lane::kTelemetry}) {
      broker->subscriptions.push_back(net::AllWorkers(level, lane));
    }
    broker->seed = RandomNumber();
    running_.emplace(flags_.broker.broker, broker->username);
    Result<std::unique_ptr<net::MqttTransport>> transport =
        net::MqttTransport::Create(clock_, *broker);
    if (!transport.ok()) return transport.status();
    transport_ = std::move(transport).value();
    wakes_ = transport_.get();
    return Status::Ok();
  }

  Status StartServer() {
    Result<std::unique_ptr<ps::Server>> server =
        ps::Server::Create(setting_, {.layout = *layout_,
                                      .optimizer = *optimizer_,
                                      .transport = *transport_,
                                      .keeper = *keeper_,
                                      .parallel = *parallel_,
                                      .clock = clock_,
                                      .log = console_.log});
    if (!server.ok()) return server.status();
    server_ = std::move(server).value();
    claim_ = std::make_unique<ps::JobClaim>(
        ps::JobClaim::Setting{.job = setting_.job,
                              .shard = setting_.shard,
                              .shards = setting_.shards,
                              .epoch = setting_.epoch,
                              .instance = instance_,
                              .place = PlaceOfThisProcess(),
                              .one_place = !flags_.broker.certificate.empty()},
        *transport_, clock_, *server_);
    Result<Recovered> recovered = keeper_->Recover(server_->recovery());
    if (!recovered.ok()) return recovered.status().WithContext(flags_.state);
    if (!recovered->damage.empty()) console_.log.Warning(recovered->damage);
    UnitTensors tensors(*parameters_);
    if (!recovered->found) {
      train::Initialise(*parameters_, flags_.learning.seed, *parallel_);
      if (!flags_.init.empty()) {
        Result<WeightsMatch> match = LoadWeights(flags_.init, flags_.new_head, *parameters_);
        if (!match.ok()) return match.status();
      }
      tensors.ToWire(server_->units(), server_->first_values());
    }
    if (Status status = server_->Start(); !status.ok()) return status;
    if (flags_.metrics_port == 0) return Status::Ok();
    Result<std::unique_ptr<MetricsPort>> port = MetricsPort::Open(flags_.metrics_port);
    if (!port.ok()) return port.status();
    metrics_ = std::move(port).value();
    return Status::Ok();
  }

  Status Loop() {
    ServingDisplay display(console_, flags_.json, setting_, *layout_, clock_);
    int64_t next_status_ns = 0;
    manager_.Ready("serving job " + flags_.job);
    while (!stop_ && !server_->done() && server_->failure().ok() && claim_->lost().ok()) {
      const int64_t latest = clock_.NowNs() + kNsPerSecond / 4;
      transport_->Poll(*claim_,
                       std::min({server_->next_tick_ns(), claim_->next_tick_ns(), latest}));
      claim_->Tick();
      server_->Tick();
      manager_.Alive();
      display.Update(server_->status());
      if (metrics_ && clock_.NowNs() >= next_status_ns) {
        metrics_->Publish(MetricsText(server_->status(), flags_.job),
                          StatusJson(server_->status(), flags_.job));
        next_status_ns = clock_.NowNs() + kNsPerSecond / 4;
      }
    }
    display.Leave();
    if (stop_) manager_.Stopping();
    if (!server_->failure().ok()) return server_->failure();
    if (!claim_->lost().ok()) return claim_->lost();
    if (!server_->done() && claim_->held()) server_->Leave();
    const bool kept = keeper_->WaitIdle(std::chrono::seconds(30));
    const std::string problem = server_->status().disk_problem;
    if (server_->finished()) {
      if (Status status = Finish(display); !status.ok()) return status;
    }
    if (!problem.empty() || !kept) {
      return Status::Unavailable("CHECKPOINT_FAILED: the state is not kept: " + problem);
    }
    return Status::Ok();
  }

  Status Finish(ServingDisplay& display) {
    UnitTensors(*parameters_).FromWire(server_->units(), server_->values());
    for (int64_t& counter : parameters_->counters()) counter = flags_.rounds;
    // One server of several has only its part of the model; the workers have the whole.
    const bool whole = setting_.shards == 1;
    Status saved = Status::Ok();
    if (whole && !flags_.save.empty()) {
      FileCalls calls;
      saved = SaveWeights(flags_.save, *parameters_, calls);
    }
    // If not, the state still has the model.
    display.Final(server_->status(), whole ? HexText(ModelHash(*parameters_)) : "");
    return saved;
  }

  const ServeFlags& flags_;
  Console& console_;
  const std::atomic<bool>& stop_;
  const SteadyClock clock_;
  ServiceManager manager_{clock_};
  ps::ServerSetting setting_;
  uint64_t instance_ = 0;
  std::unique_ptr<model::Graph> graph_;
  std::unique_ptr<train::Parameters> parameters_;
  std::unique_ptr<net::WireLayout> layout_;
  std::unique_ptr<ThreadPool> parallel_;
  std::unique_ptr<train::Optimizer> optimizer_;
  std::optional<RunningMark> running_;
  std::atomic<net::MqttTransport*> wakes_ = nullptr;
  std::unique_ptr<net::MqttTransport> transport_;
  std::unique_ptr<ps::Server> server_;
  std::unique_ptr<ps::JobClaim> claim_;
  // Ends before the transport, which it wakes, and the server, whose memory it may be writing out.
  std::unique_ptr<DiskKeeper> keeper_;
  std::unique_ptr<MetricsPort> metrics_;
};

}  // namespace

Status Serve(const ServeFlags& flags, Console& console, const std::atomic<bool>& stop) {
  return Serving(flags, console, stop).Run();
}

}  // namespace weft::apps
