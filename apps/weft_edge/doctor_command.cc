// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/doctor_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/data/open_dataset.h"
#include "apps/doctor/board_checks.h"
#include "apps/doctor/broker_walk.h"
#include "apps/doctor/device_checks.h"
#include "apps/doctor/device_session.h"
#include "apps/doctor/own_files.h"
#include "apps/doctor/service_view.h"
#include "apps/weft_edge/board_defaults.h"
#include "apps/weft_edge/local_training.h"
#include "apps/weft_edge/room.h"
#include "apps/weft_edge/train_flags.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

class EdgeDoctor {
 public:
  EdgeDoctor(const TrainFlags& flags, const DoctorFlags& doctor, const DoctorArguments& config,
             Console& console)
      : flags_(flags),
        doctor_(doctor),
        config_(config),
        service_(config.service),
        exam_(console, doctor.json) {}

  void Run() {
    const Status board = TakeBoardDefaults(flags_);
    exam_.Check("configuration", {}, [&] {
      return CheckConfiguration(service_, config_, [&] { return Configuration(); });
    });
    if (flags_.local) {
      exam_.Check("data", {"configuration"}, [&] { return Data(); });
      exam_.Check("model", {"data"}, [&] { return LocalModel(); });
    } else {
      Join();
    }
    exam_.Check("memory", {"model"},
                [&] { return board.ok() ? Memory() : Bad(board, "give another --board"); });
    exam_.Check("disk", {"configuration"}, [&] { return Disk(); });
    Board();
    exam_.Finish();
  }

 private:
  Finding Configuration() {
    if (!config_.problem.ok()) return Bad(config_.problem, "correct the file");
    const std::string file = config_.file.empty() ? "" : config_.file + ": ";
    if (flags_.local) {
      if (flags_.model.empty()) return Bad(file + "--model is missing", "say what to train");
      return Good(file + "trains " + flags_.model + " alone");
    }
    std::string missing;
    const std::pair<const char*, const std::string&> needed[] = {
        {"--broker", flags_.broker.broker}, {"--job", flags_.job}, {"--worker", flags_.worker}};
    for (const auto& [flag, value] : needed) {
      if (value.empty()) missing += (missing.empty() ? "" : ", ") + std::string(flag);
    }
    if (!missing.empty()) {
      return Bad(file + missing + " not given",
                 "write them into the file that --config names, or type them");
    }
    if (!net::IsName(flags_.job) || !net::IsName(flags_.worker)) {
      return Bad(file + "--job and --worker are names of letters, digits, '-', '_' and '.'",
                 "correct them");
    }
    Result<net::MqttSetting> broker = BrokerSetting(flags_.broker);
    if (!broker.ok()) return Bad(file + broker.status().message(), "correct --broker");
    broker->client_id = broker->username = flags_.worker;
    for (const Status& status :
         {net::Validate(*broker), ParseShare(flags_.share, "--share").status()}) {
      if (!status.ok()) return Bad(file + status.message(), "correct it");
    }
    walk_.broker = *broker;
    return Good(fmt::format("{}worker '{}' of job '{}' at {}", file, flags_.worker, flags_.job,
                            flags_.broker.broker));
  }

  void Join() {
    walk_.broker_text = flags_.broker.broker;
    walk_.identity = flags_.worker;
    walk_.identity_flag = "--worker";
    walk_.program = "weft-edge";
    walk_.service = service_;
    walk_.timeout_ms = static_cast<int64_t>(doctor_.timeout_s * 1000);
    {
      net::MqttSetting setting;
      const std::unique_ptr<net::BrokerProbe> probe = WalkToBroker(exam_, walk_, setting, clock_);
      job_ = CheckDeviceSession(
          exam_, walk_, {.job = flags_.job, .worker = flags_.worker, .shards = flags_.shards},
          probe.get(), clock_);
    }
    exam_.Check("model", {"protocol"}, [&] { return CheckModel(*job_, graph_); });
    exam_.Check("data", {"configuration"}, [&] { return Data(); });
  }

  Finding Data() {
    const size_t colon = flags_.data.find(':');
    std::vector<std::string> files;
    if (colon != std::string::npos && !flags_.data.starts_with("synthetic:")) {
      files.push_back(flags_.data.substr(colon + 1));
    }
    return service_.Look(files, ServiceView::Use::kRead,
                         [&] { return CheckData(flags_.data, flags_.eval, graph_.get()); });
  }

  Finding LocalModel() {
    const Result<std::unique_ptr<train::Dataset>> set = OpenDataset(flags_.data, Split::kTrain);
    if (!set.ok()) return Bad(set.status(), "give --data");
    Result<model::Graph> graph = BuildLocalModel(flags_.model, **set);
    if (!graph.ok()) return Bad(graph.status(), "`weft model` lists the zoo");
    graph_ = std::make_unique<model::Graph>(std::move(graph).value());
    return Good(flags_.model);
  }

  Finding Memory() {
    // In a job, parameters coming in and gradients going out; alone, the optimizer's.
    const int copies = flags_.local && flags_.learning.optimizer != "adamw" ? 1 : 2;
    int batch = flags_.batch;
    if (batch == 0 && job_) batch = static_cast<int>(job_->batch);
    if (batch == 0) {
      const Result<std::optional<Fit>> fit =
          FitForBoard(flags_, *graph_, flags_.board_batch, copies);
      if (!fit.ok()) return Bad(fit.status(), "correct the flag");
      batch = *fit ? (*fit)->batch : 1;
    }
    return CheckMemory(
        *graph_,
        {.batch = batch,
         .copies = static_cast<size_t>(copies),
         .budget = flags_.memory_budget,
         .service_percent = service_.memory_percent(),
         .compute = {.backend = flags_.backend, .threads = flags_.threads, .exact = flags_.exact}});
  }

  Finding Disk() {
    int64_t parameters = 0;
    if (graph_) parameters = static_cast<int64_t>(sizeof(float)) * graph_->parameter_count();
    if (flags_.local && !flags_.checkpoint.empty()) {
      const int copies = flags_.learning.optimizer == "adamw" ? 3 : 2;
      // Two generations, and a third while it is written.
      Finding finding = service_.Look({flags_.checkpoint}, ServiceView::Use::kWrite, [&] {
        return CheckCheckpoints(flags_.checkpoint, 3 * copies * parameters, "--checkpoint");
      });
      if (finding.state != CheckState::kOk || flags_.save.empty()) return finding;
    }
    if (flags_.save.empty()) return Good("nothing is kept on this device");
    const std::string above = std::filesystem::path(flags_.save).parent_path().string();
    const std::string folder = above.empty() ? "." : above;
    return service_.Look({folder}, ServiceView::Use::kWrite,
                         [&] { return CheckFolder(folder, parameters, "--save"); });
  }

  void Board() {
    const std::pair<const char*, std::optional<Finding>> findings[] = {
        {"heat", CheckHeat("")},
        {"throttling", CheckThrottling("")},
        {"governor", CheckGovernor("")}};
    for (const auto& [name, finding] : findings) {
      if (finding) exam_.Check(name, {}, [&finding = *finding] { return finding; });
    }
  }

  TrainFlags flags_;  // with the board's defaults
  const DoctorFlags& doctor_;
  const DoctorArguments& config_;
  const ServiceView service_;
  const SteadyClock clock_;
  Examination exam_;
  BrokerWalk walk_;
  std::optional<net::Welcome> job_;
  std::unique_ptr<model::Graph> graph_;
};

}  // namespace

Command AddDoctorCommand(CLI::App& app, const DoctorArguments& config) {
  struct Flags {
    TrainFlags train;
    DoctorFlags doctor;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Prove all that `train` with the same flags needs, and say what to do");
  AddTrainFlags(*doctor, flags->train);
  AddDoctorFlags(*doctor, flags->doctor);
  return {doctor, [flags, &config](Console& console) {
            EdgeDoctor(flags->train, flags->doctor, config, console).Run();
            return Status::Ok();
          }};
}

}  // namespace weft::apps
