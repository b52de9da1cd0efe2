// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/local_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/compute/compute_stack.h"
#include "apps/compute/process_memory.h"
#include "apps/data/open_dataset.h"
#include "apps/files/checkpoint_folder.h"
#include "apps/files/model_weights.h"
#include "apps/files/replace_file.h"
#include "apps/files/sha256.h"
#include "apps/job/service_manager.h"
#include "apps/terminal/text.h"
#include "apps/weft_edge/room.h"
#include "apps/weft_edge/training_display.h"
#include "core/hex_text.h"
#include "core/model/zoo.h"
#include "core/train/initialise.h"
#include "core/train/trainer.h"

namespace weft::apps {
namespace {

// All that one run is made of, in the order it is built.
class LocalTraining {
 public:
  LocalTraining(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop)
      : flags_(flags), console_(console), stop_(stop) {}

  Status Run() {
    for (auto part :
         {&LocalTraining::CheckPlaces, &LocalTraining::OpenData, &LocalTraining::PrepareOptimizer,
          &LocalTraining::BuildGraph, &LocalTraining::ChooseBatch, &LocalTraining::MakeParameters,
          &LocalTraining::PrepareNetworks, &LocalTraining::PrepareTrainer}) {
      if (Status status = (this->*part)(); !status.ok()) return status;
    }
    if (flags_.explain) return Explain();
    if (!flags_.json) TellBoard();
    if (Status status = Train(); !status.ok()) return status;
    return Finish();
  }

 private:
  // A run may take days; what would spoil its end is found at its beginning.
  Status CheckPlaces() {
    return flags_.save.empty() ? Status::Ok() : CheckPlace(flags_.save).WithContext("--save");
  }

  Status OpenData() {
    Result<std::unique_ptr<train::Dataset>> opened = OpenDataset(flags_.data, Split::kTrain);
    if (!opened.ok()) return opened.status();
    train_set_ = std::move(opened).value();
    if (!flags_.eval) return Status::Ok();
    opened = OpenDataset(flags_.data, Split::kTest);
    if (!opened.ok()) return opened.status();
    test_set_ = std::move(opened).value();
    return Status::Ok();
  }

  Status BuildGraph() {
    Result<model::Graph> graph = BuildLocalModel(flags_.model, *train_set_);
    if (!graph.ok()) return graph.status();
    graph_ = std::make_unique<model::Graph>(std::move(graph).value());
    return Status::Ok();
  }

  // The batch that was asked for, or the largest up to the board's that the memory allows. A model
  // that does not fit is refused here, before its parameters take any memory.
  Status ChooseBatch() {
    batch_ = flags_.batch;
    if (batch_ > 0) return Status::Ok();
    const Result<std::optional<Fit>> fit =
        FitForBoard(flags_, *graph_, flags_.board_batch, optimizer_->state_per_parameter());
    if (!fit.ok()) return fit.status();
    // Where not even one image seems to fit, what follows says what is missing.
    batch_ = *fit ? (*fit)->batch : 1;
    return Status::Ok();
  }

  Status MakeParameters() {
    const size_t copies = 1 + static_cast<size_t>(optimizer_->state_per_parameter());
    if (Status status = RoomFor(flags_, copies * ParameterBytes(*graph_)).status(); !status.ok()) {
      return status;
    }
    parameters_ = std::make_unique<train::Parameters>(*graph_);
    Result<std::unique_ptr<ComputeStack>> compute =
        ComputeStack::Create({.backend = flags_.backend,
                              .threads = flags_.threads,
                              .exact = flags_.exact,
                              .times_file = DefaultTimesFile()},
                             clock_);
    if (!compute.ok()) return compute.status();
    compute_ = std::move(compute).value();
    // A run that goes on computes with the kernels it began with: others round differently.
    if (flags_.resume) compute_->LearnTimesFrom(KernelTimesFile());
    train::Initialise(*parameters_, flags_.learning.seed, compute_->parallel());
    if (flags_.init.empty()) return Status::Ok();
    Result<WeightsMatch> match = LoadWeights(flags_.init, flags_.new_head, *parameters_);
    if (!match.ok()) return match.status();
    if (!match->kept.empty()) {
      console_.log.Warning(fmt::format("{}: the classifier starts anew", flags_.init));
    }
    return Status::Ok();
  }

  Status PrepareOptimizer() {
    Result<train::Optimizer> optimizer = MakeOptimizer(flags_.learning);
    if (!optimizer.ok()) return optimizer.status();
    optimizer_ = std::make_unique<train::Optimizer>(std::move(optimizer).value());
    Result<train::Schedule> schedule = train::ParseSchedule(flags_.learning.schedule);
    if (!schedule.ok()) return schedule.status();
    schedule_ = *schedule;
    return Status::Ok();
  }

  // A batch that nobody asked for is halved where the kernels, now that they are timed, want more
  // memory than was planned.
  Status PrepareNetworks() {
    Status status = MakeNetworks();
    while (status.code() == StatusCode::kInvalidInput && flags_.batch == 0 && batch_ > 1) {
      batch_ /= 2;
      status = MakeNetworks();
    }
    if (!status.ok()) return status;
    compute_->KeepTimes();
    compute_->KeepTimesIn(KernelTimesFile());
    return Status::Ok();
  }

  Status MakeNetworks() {
    size_t coming =
        ReadAheadBytes(*graph_, batch_) +
        parameters_->values().size_bytes() * static_cast<size_t>(optimizer_->state_per_parameter());
    const Result<size_t> now = RoomFor(flags_, coming);
    if (!now.ok()) return now.status();
    compute_->registry().LimitTiming(*now);
    if (flags_.eval) {
      eval_network_.reset();
      Result<std::unique_ptr<train::Network>> network =
          train::Network::Create(*parameters_, compute_->registry(), compute_->parallel(),
                                 {.batch = batch_, .training = false});
      if (!network.ok()) return network.status();
      eval_network_ = std::move(network).value();
      coming += eval_network_->memory().activations + eval_network_->memory().kernels;
    }
    const Result<size_t> budget = RoomFor(flags_, coming);
    if (!budget.ok()) return budget.status();
    Result<std::unique_ptr<train::Network>> network = train::Network::Create(
        *parameters_, compute_->registry(), compute_->parallel(),
        {.batch = batch_, .training = true, .keep_gradients = false, .memory_budget = *budget});
    if (!network.ok()) return InWordsOfBoard(flags_, network.status());
    network_ = std::move(network).value();
    return Status::Ok();
  }

  Status PrepareTrainer() {
    Result<std::unique_ptr<train::BatchLoader>> probe = OpenLoader(*train_set_, true, {});
    if (!probe.ok()) return probe.status();
    const int64_t per_epoch = (*probe)->steps_per_epoch();
    total_steps_ =
        flags_.steps > 0 ? flags_.steps : std::max<int64_t>(1, flags_.epochs) * per_epoch;
    trainer_ = std::make_unique<train::Trainer>(
        train::Trainer::Parts{*parameters_, *network_, *optimizer_, hooks_, compute_->parallel(),
                              clock_},
        train::TrainerSetting{.learning_rate = flags_.learning.learning_rate,
                              .schedule = schedule_,
                              .total_steps = total_steps_,
                              .label_smoothing = flags_.learning.label_smoothing,
                              .seed = flags_.learning.seed});
    loader_ = std::move(probe).value();
    if (flags_.checkpoint.empty()) {
      if (!flags_.resume) return Status::Ok();
      return Status::InvalidInput("--resume needs --checkpoint DIR to know where from");
    }
    Result<std::unique_ptr<CheckpointFolder>> folder = CheckpointFolder::Open(flags_.checkpoint);
    if (!folder.ok()) return folder.status();
    storage_ = std::move(folder).value();
    if (!flags_.resume) return Status::Ok();
    const Result<std::string> restored = trainer_->Restore(*storage_, Fingerprint());
    if (!restored.ok()) {
      const bool first_start = restored.status().code() == StatusCode::kNotFound;
      return first_start ? Status::Ok() : restored.status().WithContext(flags_.checkpoint);
    }
    if (!restored->empty()) console_.log.Warning(*restored);
    Result<std::unique_ptr<train::BatchLoader>> loader =
        OpenLoader(*train_set_, true, trainer_->position());
    if (!loader.ok()) return loader.status();
    loader_ = std::move(loader).value();
    return Status::Ok();
  }

  Result<std::unique_ptr<train::BatchLoader>> OpenLoader(const train::Dataset& dataset,
                                                         bool training, train::EpochStep start) {
    const Shape& image = graph_->input_shape();
    return train::BatchLoader::Create(dataset,
                                      {.sampling = {.batch = batch_,
                                                    .seed = flags_.learning.seed,
                                                    .shuffle = training && !flags_.no_shuffle,
                                                    .keep_rest = !training},
                                       .height = static_cast<int>(image[1]),
                                       .width = static_cast<int>(image[2]),
                                       .augment = training && !flags_.no_augment,
                                       .start = start});
  }

  // Beside the checkpoints; "" without them.
  std::string KernelTimesFile() const {
    return flags_.checkpoint.empty() ? "" : flags_.checkpoint + "/kernel-times";
  }

  // What two runs must have in common for one to go on where the other stopped.
  std::string Fingerprint() const {
    return fmt::format(
        "model={} data={} batch={} steps={} optimizer={} lr={} momentum={} nesterov={} decay={} "
        "smoothing={} schedule={} seed={} shuffle={} augment={} init={}",
        flags_.model, flags_.data, batch_, total_steps_, flags_.learning.optimizer,
        flags_.learning.learning_rate, flags_.learning.momentum, flags_.learning.nesterov,
        flags_.learning.weight_decay, flags_.learning.label_smoothing, flags_.learning.schedule,
        flags_.learning.seed, !flags_.no_shuffle, !flags_.no_augment, flags_.init);
  }

  Status Train() {
    TrainingDisplay display(console_, flags_.json, total_steps_, graph_->name(),
                            network_->memory());
    manager_.Ready("training " + graph_->name());
    while (trainer_->steps_done() < total_steps_ && !stop_) {
      Result<train::StepReport> report = trainer_->Step(*loader_);
      if (!report.ok()) {
        display.Leave();
        return report.status();
      }
      display.Show(*report);
      manager_.Alive();
      const bool epoch_ends = report->at.step + 1 == loader_->steps_per_epoch();
      const bool last = report->step == total_steps_;
      if (eval_network_ && (epoch_ends || last)) {
        if (Status status = EvaluateNow(); !status.ok()) return status;
        display.ShowScore(report->at.epoch + 1, score_);
      }
      if (storage_ && (report->step % flags_.checkpoint_every == 0 || last || stop_)) {
        if (Status status = trainer_->Save(*storage_, Fingerprint()); !status.ok()) {
          display.Leave();
          return status;
        }
      }
    }
    display.Leave();
    if (stop_) manager_.Stopping();
    for (const train::BatchLoader::Problem& problem : loader_->problems()) {
      console_.log.Warning(fmt::format("left out: {}", problem.what));
    }
    return Status::Ok();
  }

  Status EvaluateNow() {
    Result<std::unique_ptr<train::BatchLoader>> loader = OpenLoader(*test_set_, false, {});
    if (!loader.ok()) return loader.status();
    manager_.BeginLongStep();
    Result<train::Score> score = train::Evaluate(*eval_network_, **loader);
    manager_.EndLongStep();
    if (!score.ok()) return score.status();
    score_ = *score;
    return Status::Ok();
  }

  Status Finish() {
    if (!flags_.save.empty()) {
      FileCalls calls;
      if (Status status = SaveWeights(flags_.save, *parameters_, calls); !status.ok()) {
        return status;
      }
    }
    const std::string hash = HexText(ModelHash(*parameters_));
    if (flags_.json) {
      nlohmann::json final = {{"final", true},     {"steps", trainer_->steps_done()},
                              {"top1", nullptr},   {"board", flags_.board},
                              {"batch", batch_},   {"peak_rss_bytes", PeakResidentBytes()},
                              {"model_hash", hash}};
      if (eval_network_) {
        final["top1"] = score_.top1();
        final["top5"] = score_.top5();
      }
      console_.out << final << "\n";
      return Status::Ok();
    }
    console_.out << fmt::format("{} steps, peak memory {}, model {}\n", trainer_->steps_done(),
                                BytesText(PeakResidentBytes()), hash.substr(0, 16));
    if (!flags_.save.empty()) console_.out << "saved to " << flags_.save << "\n";
    return Status::Ok();
  }

  void TellBoard() {
    std::string line = flags_.board_gave;
    if (flags_.batch == 0) line += fmt::format("{}batches of {}", line.empty() ? "" : ", ", batch_);
    if (!line.empty()) console_.out << "board " << flags_.board << ": " << line << "\n";
  }

  // Some timed steps, then who did what.
  Status Explain() {
    constexpr int kSteps = 5;
    for (int step = 0; step <= kSteps; ++step) {
      if (step == 1) network_->SetClock(&clock_);  // the first is a warm-up
      Result<train::StepReport> report = trainer_->Step(*loader_);
      if (!report.ok()) return report.status();
    }
    Table table({"layer", "what", "kernel", "time", "GFLOP/s"});
    int64_t total = 0;
    for (const auto& steps : {network_->forward_steps(), network_->backward_steps()}) {
      for (const train::Step& step : steps) {
        const train::Op& op = network_->program().ops[step.op];
        const int64_t ns = step.spent_ns / std::max<int64_t>(1, step.runs);
        const bool counts = op.macs > 0 && std::string_view(step.what) != "backward activation";
        total += ns;
        table.Add({op.name, step.what, std::string(step.kernel->name()), TimeText(ns),
                   counts && ns > 0 ? fmt::format("{:.0f}", 2.0 * static_cast<double>(op.macs) /
                                                                static_cast<double>(ns))
                                    : ""});
      }
    }
    console_.out << table.Text() << "\nforward and backward: " << TimeText(total) << " a step of "
                 << batch_ << "\n"
                 << MemoryText(network_->memory()) << "\n";
    return Status::Ok();
  }

  const TrainFlags& flags_;
  Console& console_;
  const std::atomic<bool>& stop_;
  const SteadyClock clock_;
  ServiceManager manager_{clock_};
  NullHooks hooks_;
  std::unique_ptr<train::Dataset> train_set_;
  std::unique_ptr<train::Dataset> test_set_;
  std::unique_ptr<model::Graph> graph_;
  std::unique_ptr<train::Parameters> parameters_;
  std::unique_ptr<ComputeStack> compute_;
  std::unique_ptr<train::Optimizer> optimizer_;
  train::Schedule schedule_;
  std::unique_ptr<train::Network> network_;
  std::unique_ptr<train::Network> eval_network_;
  std::unique_ptr<train::BatchLoader> loader_;
  std::unique_ptr<CheckpointFolder> storage_;
  std::unique_ptr<train::Trainer> trainer_;
  train::Score score_;
  int batch_ = 0;
  int64_t total_steps_ = 0;
};

}  // namespace

Result<model::Graph> BuildLocalModel(const std::string& name, const train::Dataset& set) {
  Shape input;
  for (const model::ZooEntry& entry : model::Zoo()) {
    if (entry.name == name) input = {set.image_shape()[0], entry.input[1], entry.input[2]};
  }
  return model::BuildModel(name, {.classes = set.classes(), .input = input});
}

Status TrainLocally(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop) {
  return LocalTraining(flags, console, stop).Run();
}

}  // namespace weft::apps
