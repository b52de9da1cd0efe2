// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/joined_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "apps/compute/process_memory.h"
#include "apps/files/model_weights.h"
#include "apps/files/replace_file.h"
#include "apps/files/sha256.h"
#include "apps/job/job_model.h"
#include "apps/job/job_question.h"
#include "apps/job/running_mark.h"
#include "apps/profile/job_trace.h"
#include "apps/profile/profile_file.h"
#include "apps/weft_edge/job_channel.h"
#include "apps/weft_edge/real_compute.h"
#include "apps/weft_edge/replayed_compute.h"
#include "apps/weft_edge/room.h"
#include "apps/weft_edge/round_display.h"
#include "core/hex_text.h"
#include "net/mqtt/mqtt_transport.h"

namespace weft::apps {
namespace {

// All that one run is made of, in the order it is built.
class JoinedTraining {
 public:
  JoinedTraining(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop)
      : flags_(flags), console_(console), stop_(stop) {}

  Status Run() {
    for (auto part : {&JoinedTraining::CheckFlags, &JoinedTraining::Connect,
                      &JoinedTraining::BuildModel, &JoinedTraining::PrepareCompute}) {
      Status status = (this->*part)();
      if (stop_ && status.code() == StatusCode::kUnavailable) return LeftEarly();
      if (!status.ok()) return status;
    }
    if (Status status = Train(); !status.ok()) return status;
    if (Status status = Finish(); !status.ok()) return status;
    return written_;
  }

 private:
  Status CheckFlags() {
    if (!net::IsName(flags_.job) || !net::IsName(flags_.worker)) {
      return Status::InvalidInput(
          "to join a job give --job and --worker, each of letters, digits, '-', '_' and '.'; or "
          "train alone with --local");
    }
    Result<Share> share = ParseShare(flags_.share, "--share");
    if (!share.ok()) return share.status();
    share_ = *share;
    const std::pair<const char*, const std::string&> places[] = {
        {"--save", flags_.save}, {"--trace", flags_.trace}, {"--profile-out", flags_.profile_out}};
    for (const auto& [flag, path] : places) {
      if (path.empty()) continue;
      if (Status status = CheckPlace(path); !status.ok()) return status.WithContext(flag);
    }
    return Status::Ok();
  }

  Status Connect() {
    Result<net::MqttSetting> broker = BrokerSetting(flags_.broker);
    if (!broker.ok()) return broker.status();
    worker_ = {.job = flags_.job,
               .worker = flags_.worker,
               .incarnation = RandomNumber(),
               .shards = flags_.shards,
               .software = "weft-edge"};
    broker->client_id = flags_.worker;
    broker->username = flags_.worker;
    for (int shard = 0; shard < flags_.shards; ++shard) {
      broker->subscriptions.push_back(net::TopicOf(net::JobLevel(flags_.job, shard, flags_.shards),
                                                   flags_.worker, net::Lane::kPull));
    }
    // A connection has one will; the other servers go by the silence.
    broker->will_topic = net::TopicOf(net::JobLevel(flags_.job, 0, flags_.shards), flags_.worker,
                                      net::Lane::kControl);
    broker->will_payload = net::WorkerSession::LastWill(worker_, 0);
    broker->seed = worker_.incarnation;
    running_.emplace(flags_.broker.broker, flags_.worker);
    Result<std::unique_ptr<net::MqttTransport>> transport =
        net::MqttTransport::Create(clock_, *broker);
    if (!transport.ok()) return transport.status();
    transport_ = std::move(transport).value();
    manager_.Ready("waiting for a server of job " + flags_.job);
    Result<JobAnswer> answer =
        AskForJob(worker_, *transport_, clock_, console_.log, manager_, stop_);
    if (!answer.ok()) return answer.status();
    job_ = std::move(answer->job);
    limits_ = answer->limits;
    batch_ = flags_.batch > 0 ? flags_.batch : static_cast<int>(job_.batch);
    return Status::Ok();
  }

  Status BuildModel() {
    Result<model::Graph> graph = BuildJobModel(job_);
    if (!graph.ok()) return graph.status();
    graph_ = std::make_unique<model::Graph>(std::move(graph).value());
    // The parameters themselves, those coming in and the gradients going out.
    if (Status status = RoomFor(flags_, 3 * ParameterBytes(*graph_)).status(); !status.ok()) {
      return status;
    }
    parameters_ = std::make_unique<train::Parameters>(*graph_);
    tensors_ = std::make_unique<UnitTensors>(*parameters_);
    Result<net::WireLayout> layout = WireLayoutOf(*graph_);
    if (!layout.ok()) return layout.status();
    layout_ = std::make_unique<net::WireLayout>(std::move(layout).value());
    worker_.model_hash = job_.model_hash;
    worker_.batch = static_cast<uint32_t>(batch_);
    return Status::Ok();
  }

  Status PrepareCompute() {
    Result<sched::Strategy> strategy = sched::ParseStrategy(job_.strategy, sched::JobStrategies());
    if (!strategy.ok()) {
      return Status::Unavailable("the job's strategy: " + strategy.status().message());
    }
    strategy_ = *strategy;
    constexpr std::string_view kReplay = "replay:";
    if (flags_.compute != "real" && !flags_.compute.starts_with(kReplay)) {
      return Status::InvalidInput("--compute '" + flags_.compute +
                                  "' is neither real nor replay:FILE");
    }
    if (flags_.compute != "real" && flags_.eval) {
      return Status::InvalidInput("--eval needs --compute real: a replayed job learns nothing");
    }
    manager_.BeginLongStep();
    Result<std::unique_ptr<RoundCompute>> compute =
        flags_.compute == "real"
            ? MakeRealCompute({.flags = flags_,
                               .job = job_,
                               .graph = *graph_,
                               .layout = *layout_,
                               .parameters = *parameters_,
                               .clock = clock_,
                               .share = share_,
                               .batch = batch_})
            : MakeReplayedCompute(flags_.compute.substr(kReplay.size()), *layout_, *parameters_,
                                  batch_, share_.index, clock_);
    manager_.EndLongStep();
    if (!compute.ok()) return compute.status();
    compute_ = std::move(compute).value();
    return Status::Ok();
  }

  Status Train() {
    JobChannel channel(worker_, *layout_, *transport_, limits_, clock_, console_.log, manager_,
                       stop_, compute_->parallel());
    sched::TransferScheduler scheduler(
        {.strategy = strategy_,
         .replan_rounds = std::max<int64_t>(1, job_.replan_rounds),
         .message_bytes = static_cast<int64_t>(std::min<uint64_t>(job_.segment_bytes, INT64_MAX)),
         .keep_rounds = flags_.trace.empty() ? size_t{0} : kTracedRounds},
        compute_->Units(), channel, clock_);
    RoundDisplay display(console_, {.json = flags_.json,
                                    .rounds = job_.rounds,
                                    .model = graph_->name(),
                                    .strategy = job_.strategy,
                                    .compute = compute_->name()});
    if (!flags_.json && !flags_.board_gave.empty()) {
      console_.out << "board " << flags_.board << ": " << flags_.board_gave << "\n";
    }
    const Status status = Rounds(channel, scheduler, display);
    display.Leave();
    if (stop_) manager_.Stopping();
    if (!status.ok()) return status;
    done_ = channel.done();
    has_model_ = channel.has_last_version();
    ledger_ = channel.ledger();
    if (has_model_) {
      for (int unit = 0; unit < layout_->unit_count(); ++unit) {
        channel.CopyUnit(unit, tensors_->Values(unit), tensors_->Statistics(unit));
      }
      for (int64_t& counter : parameters_->counters()) counter = job_.rounds;
    }
    written_ = WriteFiles(scheduler);
    return Status::Ok();
  }

  Status Rounds(JobChannel& channel, sched::TransferScheduler& scheduler, RoundDisplay& display) {
    for (;;) {
      Result<std::optional<int64_t>> round = channel.NextRound();
      if (!round.ok()) return round.status();
      if (!*round) return Status::Ok();
      if (flags_.eval && **round > 0 && **round != evaluated_) {
        if (Status status = EvaluateBefore(**round, channel, display); !status.ok()) return status;
      }
      if (compute_->EpochsBefore(**round + 1)) scheduler.PlanAnew();
      Result<train::StepReport> step = compute_->Compute(**round, scheduler);
      if (!step.ok()) return step.status();
      if (step->abandoned) continue;
      took_part_ = true;
      const sched::RoundReport& report = scheduler.report();
      const net::WorkerSession::Traffic traffic = channel.traffic();
      display.Show(*step, report, traffic, compute_->late_ns());
      manager_.Say(fmt::format("round {} of {}", **round + 1, job_.rounds));
      const sched::Portions& parts = report.portions;
      channel.Report(
          {.loss = step->loss,
           .images = static_cast<uint64_t>(step->images),
           .compute_ns = static_cast<uint64_t>(parts.computing_alone_ns + parts.overlapping_ns),
           .wait_ns = static_cast<uint64_t>(parts.communicating_alone_ns),
           .bytes_sent = static_cast<uint64_t>(traffic.bytes_up),
           .bytes_received = static_cast<uint64_t>(traffic.bytes_down)});
    }
  }

  // Where an epoch has ended, how good the model is with which `round` begins.
  Status EvaluateBefore(int64_t round, JobChannel& channel, RoundDisplay& display) {
    const std::optional<int64_t> epochs = compute_->EpochsBefore(round);
    if (!epochs) return Status::Ok();
    for (int unit = 0; unit < layout_->unit_count(); ++unit) {
      // If the round was taken from us meanwhile, the next attempt brings us here again.
      if (!channel.TakeUnit(unit, tensors_->Values(unit), tensors_->Statistics(unit))) {
        return Status::Ok();
      }
    }
    manager_.BeginLongStep();
    const Result<train::Score> score = compute_->Evaluate();
    manager_.EndLongStep();
    if (!score.ok()) return score.status();
    evaluated_ = round;
    display.ShowScore(*epochs, *score);
    return Status::Ok();
  }

  // What was measured, where it was asked for; of two failures the first.
  Status WriteFiles(const sched::TransferScheduler& scheduler) {
    Status status;
    const std::optional<sched::CostProfile> profile = scheduler.profile();
    if (!flags_.profile_out.empty()) {
      if (profile) {
        status = WriteProfileFile(flags_.profile_out, *profile);
      } else {
        console_.log.Warning("no profile was written: too little has crossed the link to fit one");
      }
    }
    if (flags_.trace.empty()) return status;
    sched::CostProfile names;
    for (const net::WireUnit& unit : layout_->units()) names.units.push_back({.name = unit.name});
    const Status traced = WriteJobTrace(flags_.trace, worker_.worker + " " + job_.strategy,
                                        scheduler.trace(), names.units);
    return status.ok() ? traced : status;
  }

  // Whoever stops a device while it waits or trains has not met a failure.
  Status LeftEarly() {
    console_.log.Warning("left the job before its end");
    return Status::Ok();
  }

  Status Finish() {
    if (!done_) return LeftEarly();
    if (!has_model_) {
      const std::string sentence =
          "the job is done, and its last parameters did not reach this worker; the server has them";
      if (took_part_ || !flags_.save.empty()) return Status::Unavailable(sentence);
      console_.log.Warning(sentence);  // it came when all was over
      return Status::Ok();
    }
    if (!flags_.save.empty()) {
      FileCalls calls;
      if (Status status = SaveWeights(flags_.save, *parameters_, calls); !status.ok()) {
        return status;
      }
    }
    train::Score score;
    if (flags_.eval) {
      manager_.BeginLongStep();
      Result<train::Score> result = compute_->Evaluate();
      if (!result.ok()) return result.status();
      score = *result;
    }
    const std::string hash = HexText(ModelHash(*parameters_));
    if (flags_.json) {
      nlohmann::json final = {{"final", true},
                              {"rounds", job_.rounds},
                              {"strategy", job_.strategy},
                              {"compute", compute_->name()},
                              {"top1", nullptr},
                              {"top5", nullptr},
                              {"board", flags_.board},
                              {"batch", batch_},
                              {"segments_queued", ledger_.queued},
                              {"segments_acknowledged", ledger_.acknowledged},
                              {"segments_refused", ledger_.refused},
                              {"segments_expired", ledger_.expired},
                              {"segments_sent_again", ledger_.sent_again},
                              {"peak_rss_bytes", PeakResidentBytes()},
                              {"model_hash", hash}};
      if (flags_.eval) {
        final["top1"] = score.top1();
        final["top5"] = score.top5();
      }
      console_.out << final << "\n";
      return Status::Ok();
    }
    console_.out << fmt::format("{} rounds, model {}", job_.rounds, hash.substr(0, 16));
    if (flags_.eval) console_.out << fmt::format(", top-1 {:.2f} %", 100 * score.top1());
    console_.out << "\n";
    return Status::Ok();
  }

  const TrainFlags& flags_;
  Console& console_;
  const std::atomic<bool>& stop_;
  const SteadyClock clock_;
  ServiceManager manager_{clock_};
  Share share_;
  net::WorkerSession::Setting worker_;
  net::Welcome job_;
  net::ConnectionLimits limits_;
  int batch_ = 0;
  std::optional<RunningMark> running_;
  std::unique_ptr<net::MqttTransport> transport_;
  std::unique_ptr<model::Graph> graph_;
  std::unique_ptr<train::Parameters> parameters_;
  std::unique_ptr<UnitTensors> tensors_;
  std::unique_ptr<net::WireLayout> layout_;
  sched::Strategy strategy_ = sched::Strategy::kWeave;
  std::unique_ptr<RoundCompute> compute_;
  bool done_ = false;
  bool has_model_ = false;
  bool took_part_ = false;
  int64_t evaluated_ = 0;  // the round before which the model was last measured
  net::SegmentSender::Ledger ledger_;
  // How it went with the files of what was measured: told at the end, when the model is safe.
  Status written_;
};

}  // namespace

Status TrainJoined(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop) {
  return JoinedTraining(flags, console, stop).Run();
}

}  // namespace weft::apps
