// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/doctor_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/doctor/broker_walk.h"
#include "apps/doctor/own_files.h"
#include "apps/doctor/server_session.h"
#include "apps/doctor/service_view.h"
#include "apps/files/descriptor.h"
#include "apps/job/job_model.h"
#include "apps/terminal/text.h"
#include "apps/weft_ps/metrics_port.h"
#include "apps/weft_ps/serve_flags.h"
#include "apps/weft_ps/served_job.h"
#include "cloud_ps/broker/broker_config.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

class ServerDoctor {
 public:
  ServerDoctor(const ServeFlags& flags, const DoctorFlags& doctor, const DoctorArguments& config,
               Console& console)
      : flags_(flags), config_(config), service_(config.service), exam_(console, doctor.json) {
    walk_.timeout_ms = static_cast<int64_t>(doctor.timeout_s * 1000);
  }

  void Run() {
    exam_.Check("configuration", {}, [&] {
      return CheckConfiguration(service_, config_, [&] { return Configuration(); });
    });
    exam_.Check("model", {"configuration"}, [&] { return Model(); });
    {
      net::MqttSetting setting;
      const std::unique_ptr<net::BrokerProbe> probe = WalkToBroker(exam_, walk_, setting, clock_);
      CheckServerSession(exam_, walk_,
                         {.job = flags_.job,
                          .shard = shard_.index,
                          .shards = shard_.count,
                          .segment_bytes = sizes_.segment,
                          .window_bytes = sizes_.window,
                          .welcome_bytes = welcome_bytes_},
                         probe.get(), clock_);
    }
    exam_.Check("state", {"configuration"}, [&] {
      return service_.Look(
          {flags_.state}, ServiceView::Use::kWrite, [&] { return State(); },
          [&] { return CheckCheckpoints(flags_.state, 0, "--state"); });
    });
    exam_.Check("disk", {"model"}, [&] { return Disk(); });
    if (flags_.metrics_port != 0) {
      exam_.Check("metrics port", {"configuration"}, [&] { return Metrics(); });
    }
    exam_.Check("broker memory", {"model"}, [&] { return BrokerMemory(); });
    exam_.Finish();
  }

 private:
  Finding Configuration() {
    if (!config_.problem.ok()) return Bad(config_.problem, "correct the file");
    const std::string file = config_.file.empty() ? "" : config_.file + ": ";
    std::string missing;
    const std::pair<const char*, bool> needed[] = {{"--broker", flags_.broker.broker.empty()},
                                                   {"--job", flags_.job.empty()},
                                                   {"--state", flags_.state.empty()},
                                                   {"--model", flags_.model.empty()},
                                                   {"--rounds", flags_.rounds == 0}};
    for (const auto& [flag, is_missing] : needed) {
      if (is_missing) missing += (missing.empty() ? "" : ", ") + std::string(flag);
    }
    if (!missing.empty()) {
      return Bad(file + missing + " not given",
                 "write them into the file that --config names, or type them");
    }
    if (!net::IsName(flags_.job)) {
      return Bad(file + "--job is a name of letters, digits, '-', '_' and '.'", "correct it");
    }
    Result<Share> shard = ParseShard(flags_);
    if (!shard.ok()) return Bad(file + shard.status().message(), "correct it");
    shard_ = *shard;
    Result<net::MqttSetting> broker = BrokerSetting(flags_.broker);
    if (!broker.ok()) return Bad(file + broker.status().message(), "correct --broker");
    broker->client_id = broker->username = ps::ServerUser(shard_.index, shard_.count);
    if (Status status = net::Validate(*broker); !status.ok()) {
      return Bad(file + status.message(), "correct it");
    }
    walk_.broker = *broker;
    walk_.broker_text = flags_.broker.broker;
    walk_.identity = broker->username;
    walk_.identity_flag = "this server";
    walk_.program = "weft-ps";
    walk_.service = service_;
    return Good(fmt::format("{}serves job '{}' at {}", file, flags_.job, flags_.broker.broker));
  }

  Finding Model() {
    Result<model::Graph> graph = BuildServedModel(flags_);
    if (!graph.ok()) return Bad(graph.status(), "`weft model` lists the zoo");
    Result<net::WireLayout> layout = WireLayoutOf(*graph);
    Result<train::Optimizer> optimizer = MakeOptimizer(flags_.learning);
    if (!optimizer.ok()) return Bad(optimizer.status(), "correct the flag");
    Result<net::WireLayout::UnitRange> units = layout->Shard(shard_.index, shard_.count);
    if (!units.ok()) return Bad(units.status(), "correct --shard");
    Result<MessageSizes> sizes = ParseSizes(flags_, *layout);
    if (!sizes.ok()) return Bad(sizes.status(), "correct the flag");
    if (!flags_.init.empty()) {
      Finding init = service_.Look({flags_.init}, ServiceView::Use::kRead,
                                   [&] { return CheckReadable({flags_.init}); });
      if (init.state != CheckState::kOk) return init;
    }
    sizes_ = *sizes;
    floats_ = layout->Units(units->first, units->last).size();
    state_per_parameter_ = optimizer->state_per_parameter();
    // What each device is told first has all units and slices in it.
    const net::Welcome welcome{
        .model = flags_.model,
        .units = {layout->units().begin(), layout->units().end()},
        .slice_ends = std::vector<uint64_t>(
            static_cast<size_t>(layout->floats() / std::max<int64_t>(1, sizes_.slice_floats) + 1)),
        .strategy = flags_.strategy};
    welcome_bytes_ = static_cast<int64_t>(
        net::Encode({.header = {.job = flags_.job, .worker = "weft-doctor"}, .body = welcome})
            .size());
    return Good(fmt::format("{}, {} parameters{}", flags_.model,
                            CountText(graph->parameter_count()),
                            shard_.count > 1 ? ", of which this server has a part" : ""));
  }

  // The folder is free, or a server has it.
  Finding State() {
    Finding folder = CheckFolder(flags_.state, 0, "--state");
    if (folder.state == CheckState::kFails) return folder;
    const Descriptor lock(open((flags_.state + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
    if (!lock.open()) return Good(flags_.state + " can be written, and is new");
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      return Good(flags_.state + " can be written, and no server has it");
    }
    return Doubtful("a running server has " + flags_.state,
                    "leave it running, or stop it before another is started");
  }

  // The state's, and the trained model's, whose folder would be missed after days of training only.
  Finding Disk() {
    Finding state = CheckFolder(flags_.state, DiskBytes(), "--state");
    if (state.state != CheckState::kOk || flags_.save.empty()) return state;
    const std::string above = std::filesystem::path(flags_.save).parent_path().string();
    const std::string folder = above.empty() ? "." : above;
    Finding save = service_.Look({folder}, ServiceView::Use::kWrite, [&] {
      return CheckFolder(folder, static_cast<int64_t>(sizeof(float)) * floats_, "--save");
    });
    return save.state == CheckState::kOk ? state : save;
  }

  // Two generations of checkpoints with a third while it is written, each with the version before;
  // and a mean for every round since the older of them.
  int64_t DiskBytes() const {
    const int64_t rounds = std::min(flags_.rounds, 2 * flags_.checkpoint_every);
    return static_cast<int64_t>(sizeof(float)) * floats_ *
           (3 * (2 + state_per_parameter_) + rounds);
  }

  Finding Metrics() {
    Result<std::unique_ptr<MetricsPort>> port = MetricsPort::Open(flags_.metrics_port);
    if (port.ok()) return Good(fmt::format("127.0.0.1 port {} is free", flags_.metrics_port));
    if (AskMetricsPort(flags_.metrics_port, "/status").ok()) {
      return Doubtful(fmt::format("a running weft-ps has port {}", flags_.metrics_port),
                      "leave it running, or give another --metrics-port");
    }
    return Bad(port.status(), "see who has it with `ss -ltnp`");
  }

  Finding BrokerMemory() {
    const Result<ps::BrokerPlan> plan = ps::PlanBroker({.job = flags_.job,
                                                        .workers = flags_.workers,
                                                        .shards = shard_.count,
                                                        .window_bytes = sizes_.window,
                                                        .segment_bytes = sizes_.segment,
                                                        .acl_path = "acl"});
    if (!plan.ok()) return Bad(plan.status(), "correct --workers, --segment or --window");
    if (!plan->warning.empty()) return Doubtful(plan->warning, "give a smaller --window");
    return Good(
        fmt::format("{} at most, for {} workers", BytesText(plan->memory_bytes), flags_.workers));
  }

  const ServeFlags& flags_;
  const DoctorArguments& config_;
  const ServiceView service_;
  const SteadyClock clock_;
  Examination exam_;
  BrokerWalk walk_;
  Share shard_;
  MessageSizes sizes_;
  int64_t floats_ = 0;
  int64_t state_per_parameter_ = 0;
  int64_t welcome_bytes_ = 0;
};

}  // namespace

Command AddServerDoctorCommand(CLI::App& app, const DoctorArguments& config) {
  struct Flags {
    ServeFlags serve;
    DoctorFlags doctor;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Prove all that `serve` with the same flags needs, and say what to do");
  AddServeFlags(*doctor, flags->serve);
  AddDoctorFlags(*doctor, flags->doctor);
  return {doctor, [flags, &config](Console& console) {
            ServerDoctor(flags->serve, flags->doctor, config, console).Run();
            return Status::Ok();
          }};
}

}  // namespace weft::apps
