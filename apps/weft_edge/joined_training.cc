// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/joined_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "apps/compute/compute_stack.h"
#include "apps/compute/memory_budget.h"
#include "apps/compute/process_memory.h"
#include "apps/data/open_dataset.h"
#include "apps/files/model_weights.h"
#include "apps/files/sha256.h"
#include "apps/job/job_model.h"
#include "apps/job/job_question.h"
#include "apps/weft_edge/job_channel.h"
#include "apps/weft_edge/training_display.h"
#include "core/hex_text.h"
#include "core/hooks.h"
#include "core/model/zoo.h"
#include "core/train/compute_step.h"
#include "core/train/trainer.h"
#include "net/mqtt/mqtt_transport.h"

namespace weft::apps {
namespace {

// Parameters come from the channel before a unit's forward and gradients go to it after its
// backward.
class ChannelHooks final : public StepHooks {
 public:
  ChannelHooks(JobChannel& channel, train::Network& network, const UnitTensors& tensors)
      : channel_(channel), network_(network), tensors_(tensors) {}

  void Start(const JobChannel::Attempt& attempt) {
    attempt_ = attempt;
    abandoned_ = false;
  }

  void BeginStep(int64_t) override {}
  bool BeforeForward(int unit) override {
    if (abandoned_) return false;
    abandoned_ =
        !channel_.TakeUnit(attempt_, unit, tensors_.Values(unit), tensors_.Statistics(unit));
    return !abandoned_;
  }
  void AfterBackward(int unit) override {
    channel_.Release(attempt_, unit, network_.Gradients(unit), tensors_.Statistics(unit));
  }
  void EndStep() override {}
  bool Abandoned() const override { return abandoned_; }

 private:
  JobChannel& channel_;
  train::Network& network_;
  const UnitTensors& tensors_;
  JobChannel::Attempt attempt_;
  bool abandoned_ = false;
};

// All that one run is made of, in the order it is built.
class JoinedTraining {
 public:
  JoinedTraining(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop)
      : flags_(flags), console_(console), stop_(stop) {}

  Status Run() {
    for (auto part :
         {&JoinedTraining::CheckFlags, &JoinedTraining::Connect, &JoinedTraining::OpenData,
          &JoinedTraining::BuildModel, &JoinedTraining::PrepareNetworks}) {
      if (Status status = (this->*part)(); !status.ok()) return status;
    }
    if (Status status = Train(); !status.ok()) return status;
    return Finish();
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
    Result<std::unique_ptr<net::MqttTransport>> transport =
        net::MqttTransport::Create(clock_, *broker);
    if (!transport.ok()) return transport.status();
    transport_ = std::move(transport).value();
    Result<JobAnswer> answer = AskForJob(worker_, *transport_, clock_, console_.log, stop_);
    if (!answer.ok()) return answer.status();
    job_ = std::move(answer->job);
    limits_ = answer->limits;
    batch_ = flags_.batch > 0 ? flags_.batch : static_cast<int>(job_.batch);
    return Status::Ok();
  }

  Status OpenData() {
    Result<std::unique_ptr<train::Dataset>> opened = OpenDataset(flags_.data, Split::kTrain);
    if (!opened.ok()) return opened.status();
    train_set_ = std::move(opened).value();
    if (train_set_->classes() != static_cast<int>(job_.classes) ||
        train_set_->image_shape()[0] != static_cast<int64_t>(job_.input[0])) {
      return Status::InvalidInput(fmt::format(
          "the job trains on {} classes and {} channels, and {} has {} and {}", job_.classes,
          job_.input[0], flags_.data, train_set_->classes(), train_set_->image_shape()[0]));
    }
    if (!flags_.eval) return Status::Ok();
    opened = OpenDataset(flags_.data, Split::kTest);
    if (!opened.ok()) return opened.status();
    test_set_ = std::move(opened).value();
    return Status::Ok();
  }

  Status BuildModel() {
    Result<model::Graph> graph =
        model::BuildModel(job_.model, {.classes = static_cast<int>(job_.classes),
                                       .input = {job_.input[0], job_.input[1], job_.input[2]}});
    if (!graph.ok()) return graph.status();
    graph_ = std::make_unique<model::Graph>(std::move(graph).value());
    parameters_ = std::make_unique<train::Parameters>(*graph_);
    tensors_ = std::make_unique<UnitTensors>(*parameters_);
    Result<net::WireLayout> layout = WireLayoutOf(*graph_);
    if (!layout.ok()) return layout.status();
    layout_ = std::make_unique<net::WireLayout>(std::move(layout).value());
    worker_.model_hash = ArchitectureHash(*graph_);
    worker_.batch = static_cast<uint32_t>(batch_);
    if (worker_.model_hash != job_.model_hash) {
      return Status::InvalidInput(
          fmt::format("the server's {} is {} and this device's is {}; install the same version on "
                      "both",
                      job_.model, HexText(job_.model_hash), HexText(worker_.model_hash)));
    }
    Result<std::unique_ptr<ComputeStack>> compute =
        ComputeStack::Create({.backend = flags_.backend,
                              .threads = flags_.threads,
                              .exact = flags_.exact,
                              .times_file = DefaultTimesFile()},
                             clock_);
    if (!compute.ok()) return compute.status();
    compute_ = std::move(compute).value();
    return Status::Ok();
  }

  Status PrepareNetworks() {
    const auto batch_bytes =
        sizeof(float) * static_cast<size_t>(batch_ * graph_->input_shape().elements());
    // Read ahead; parameters coming in and gradients going out.
    const size_t coming = 3 * batch_bytes + 2 * parameters_->values().size_bytes();
    Result<size_t> budget = BytesLeft(flags_.memory_budget, coming);
    if (!budget.ok()) return budget.status();
    Result<std::unique_ptr<train::Network>> network = train::Network::Create(
        *parameters_, compute_->registry(), compute_->parallel(),
        {.batch = batch_, .training = true, .keep_gradients = false, .memory_budget = *budget});
    if (!network.ok()) return network.status();
    network_ = std::move(network).value();
    compute_->KeepTimes();
    return OpenLoader({});
  }

  // Round r computes with batch r of this worker's share, however often it is tried.
  Status OpenLoader(train::EpochStep start) {
    const Shape& image = graph_->input_shape();
    loader_.reset();
    Result<std::unique_ptr<train::BatchLoader>> loader =
        train::BatchLoader::Create(*train_set_, {.sampling = {.batch = batch_,
                                                              .worker = share_.index,
                                                              .workers = share_.count,
                                                              .seed = job_.seed,
                                                              .shuffle = !flags_.no_shuffle},
                                                 .height = static_cast<int>(image[1]),
                                                 .width = static_cast<int>(image[2]),
                                                 .augment = !flags_.no_augment,
                                                 .start = start});
    if (!loader.ok()) return loader.status();
    loader_ = std::move(loader).value();
    return Status::Ok();
  }

  // The batch of `round`, in batch_data_.
  Status TakeBatch(int64_t round) {
    if (batch_data_ && batch_round_ == round) return Status::Ok();
    if (batch_round_ != round - 1) {
      batch_data_.reset();
      const int64_t steps = loader_->steps_per_epoch();
      if (Status status = OpenLoader({round / steps, round % steps}); !status.ok()) return status;
    }
    Result<train::Batch> batch = loader_->Next();
    if (!batch.ok()) return batch.status();
    batch_data_ = *batch;
    batch_round_ = round;
    return Status::Ok();
  }

  Status Train() {
    JobChannel channel(worker_, *layout_, *transport_, limits_, clock_, console_.log, stop_);
    ChannelHooks hooks(channel, *network_, *tensors_);
    TrainingDisplay display(console_, flags_.json, job_.rounds, graph_->name(), network_->memory());
    const Status status = Rounds(channel, hooks, display);
    display.Leave();
    if (!status.ok()) return status;
    done_ = channel.done();
    ledger_ = channel.ledger();
    if (done_) {
      for (int unit = 0; unit < layout_->unit_count(); ++unit) {
        channel.CopyUnit(unit, tensors_->Values(unit), tensors_->Statistics(unit));
      }
      for (int64_t& counter : parameters_->counters()) counter = job_.rounds;
    }
    return Status::Ok();
  }

  Status Rounds(JobChannel& channel, ChannelHooks& hooks, TrainingDisplay& display) {
    for (;;) {
      const int64_t begin = clock_.NowNs();
      const int64_t waited = channel.waited_ns();
      Result<std::optional<JobChannel::Attempt>> attempt = channel.NextAttempt();
      if (!attempt.ok()) return attempt.status();
      if (!*attempt) return Status::Ok();
      const int64_t round = (*attempt)->round;
      if (Status status = TakeBatch(round); !status.ok()) return status;
      hooks.Start(**attempt);
      Result<train::StepReport> report =
          train::ComputeStep({.network = *network_,
                              .forward_hooks = hooks,
                              .backward_hooks = hooks,
                              .clock = clock_,
                              .label_smoothing = job_.label_smoothing,
                              .seed = job_.seed + static_cast<uint64_t>(share_.index)},
                             round, *batch_data_);
      if (!report.ok()) return report.status();
      if (report->abandoned) continue;
      report->total_ns = clock_.NowNs() - begin;
      display.Show(*report);
      const int64_t waited_ns = channel.waited_ns() - waited;
      channel.Report({.loss = report->loss,
                      .images = static_cast<uint64_t>(report->images),
                      .compute_ns = static_cast<uint64_t>(report->total_ns - waited_ns),
                      .wait_ns = static_cast<uint64_t>(waited_ns)});
    }
  }

  Status Finish() {
    if (!done_) {
      console_.log.Warning("left the job before its end");
      return Status::Ok();
    }
    if (!flags_.save.empty()) {
      FileCalls calls;
      if (Status status = SaveWeights(flags_.save, *parameters_, calls); !status.ok()) {
        return status;
      }
    }
    train::Score score;
    if (test_set_) {
      if (Status status = EvaluateNow(score); !status.ok()) return status;
    }
    const std::string hash = HexText(ModelHash(*parameters_));
    if (flags_.json) {
      nlohmann::json final = {{"final", true},
                              {"rounds", job_.rounds},
                              {"top1", nullptr},
                              {"segments_queued", ledger_.queued},
                              {"segments_acknowledged", ledger_.acknowledged},
                              {"segments_refused", ledger_.refused},
                              {"segments_expired", ledger_.expired},
                              {"segments_sent_again", ledger_.sent_again},
                              {"peak_rss_bytes", PeakResidentBytes()},
                              {"model_hash", hash}};
      if (test_set_) final["top1"] = score.top1();
      console_.out << final << "\n";
      return Status::Ok();
    }
    console_.out << fmt::format("{} rounds, model {}", job_.rounds, hash.substr(0, 16));
    if (test_set_) console_.out << fmt::format(", top-1 {:.2f} %", 100 * score.top1());
    console_.out << "\n";
    return Status::Ok();
  }

  Status EvaluateNow(train::Score& score) {
    Result<std::unique_ptr<train::Network>> network =
        train::Network::Create(*parameters_, compute_->registry(), compute_->parallel(),
                               {.batch = batch_, .training = false});
    if (!network.ok()) return network.status();
    const Shape& image = graph_->input_shape();
    Result<std::unique_ptr<train::BatchLoader>> loader = train::BatchLoader::Create(
        *test_set_, {.sampling = {.batch = batch_, .shuffle = false, .keep_rest = true},
                     .height = static_cast<int>(image[1]),
                     .width = static_cast<int>(image[2]),
                     .augment = false});
    if (!loader.ok()) return loader.status();
    Result<train::Score> result = train::Evaluate(**network, **loader);
    if (!result.ok()) return result.status();
    score = *result;
    return Status::Ok();
  }

  const TrainFlags& flags_;
  Console& console_;
  const std::atomic<bool>& stop_;
  const SteadyClock clock_;
  Share share_;
  net::WorkerSession::Setting worker_;
  net::Welcome job_;
  net::ConnectionLimits limits_;
  int batch_ = 0;
  std::unique_ptr<net::MqttTransport> transport_;
  std::unique_ptr<train::Dataset> train_set_;
  std::unique_ptr<train::Dataset> test_set_;
  std::unique_ptr<model::Graph> graph_;
  std::unique_ptr<train::Parameters> parameters_;
  std::unique_ptr<UnitTensors> tensors_;
  std::unique_ptr<net::WireLayout> layout_;
  std::unique_ptr<ComputeStack> compute_;
  std::unique_ptr<train::Network> network_;
  std::unique_ptr<train::BatchLoader> loader_;
  std::optional<train::Batch> batch_data_;
  int64_t batch_round_ = -1;  // of batch_data_, or the one before the loader's next
  bool done_ = false;
  net::SegmentSender::Ledger ledger_;
};

}  // namespace

Status TrainJoined(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop) {
  return JoinedTraining(flags, console, stop).Run();
}

}  // namespace weft::apps
