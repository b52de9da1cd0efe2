// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/real_compute.h"

#include <optional>

#include "apps/compute/compute_stack.h"
#include "apps/data/open_dataset.h"
#include "apps/weft_edge/room.h"
#include "core/train/trainer.h"

namespace weft::apps {
namespace {

class RealCompute final : public RoundCompute {
 public:
  explicit RealCompute(const RealComputeParts& parts) : p_(parts), tensors_(parts.parameters) {}

  // In the order things are built.
  Status Prepare() {
    for (auto part :
         {&RealCompute::OpenData, &RealCompute::OpenCompute, &RealCompute::BuildNetwork}) {
      if (Status status = (this->*part)(); !status.ok()) return status;
    }
    return OpenLoader({});
  }

  const char* name() const override { return "real"; }

  std::vector<sched::TransferScheduler::Unit> Units() override {
    std::vector<sched::TransferScheduler::Unit> units;
    for (int unit = 0; unit < p_.layout.unit_count(); ++unit) {
      units.push_back({.name = p_.layout.units()[static_cast<size_t>(unit)].name,
                       .parameters = tensors_.Values(unit),
                       .statistics = tensors_.Statistics(unit),
                       .gradients = network_->Gradients(unit)});
    }
    return units;
  }

  Parallel& parallel() override { return compute_->parallel(); }

  Result<train::StepReport> Compute(int64_t round, StepHooks& hooks) override {
    if (Status status = TakeBatch(round); !status.ok()) return status;
    return train::ComputeStep({.network = *network_,
                               .forward_hooks = hooks,
                               .backward_hooks = hooks,
                               .clock = p_.clock,
                               .label_smoothing = p_.job.label_smoothing,
                               .seed = p_.job.seed + static_cast<uint64_t>(p_.share.index)},
                              round, *batch_data_);
  }

  std::optional<int64_t> EpochsBefore(int64_t round) const override {
    const int64_t steps = loader_->steps_per_epoch();
    return round % steps == 0 ? std::optional(round / steps) : std::nullopt;
  }

  Result<train::Score> Evaluate() override {
    Result<std::unique_ptr<train::Dataset>> test_set = OpenDataset(p_.flags.data, Split::kTest);
    if (!test_set.ok()) return test_set.status();
    Result<std::unique_ptr<train::Network>> network =
        train::Network::Create(p_.parameters, compute_->registry(), compute_->parallel(),
                               {.batch = p_.batch, .training = false});
    if (!network.ok()) return network.status();
    const Shape& image = p_.graph.input_shape();
    Result<std::unique_ptr<train::BatchLoader>> loader = train::BatchLoader::Create(
        **test_set, {.sampling = {.batch = p_.batch, .shuffle = false, .keep_rest = true},
                     .height = static_cast<int>(image[1]),
                     .width = static_cast<int>(image[2]),
                     .augment = false});
    if (!loader.ok()) return loader.status();
    return train::Evaluate(**network, **loader);
  }

 private:
  Status OpenData() {
    if (p_.flags.data.empty()) {
      return Status::InvalidInput(
          "--data KIND:PATH is missing: the images this device trains on; docs/data.md lists the "
          "kinds");
    }
    Result<std::unique_ptr<train::Dataset>> opened = OpenDataset(p_.flags.data, Split::kTrain);
    if (!opened.ok()) return opened.status();
    train_set_ = std::move(opened).value();
    if (Status status = CheckFits(*train_set_, p_.flags.data, p_.job.classes, p_.job.input[0]);
        !status.ok()) {
      return status;
    }
    // What is asked for at the end is missed at the beginning.
    if (p_.flags.eval) return OpenDataset(p_.flags.data, Split::kTest).status();
    return Status::Ok();
  }

  Status OpenCompute() {
    Result<std::unique_ptr<ComputeStack>> compute =
        ComputeStack::Create({.backend = p_.flags.backend,
                              .threads = p_.flags.threads,
                              .exact = p_.flags.exact,
                              .times_file = DefaultTimesFile()},
                             p_.clock);
    if (!compute.ok()) return compute.status();
    compute_ = std::move(compute).value();
    return Status::Ok();
  }

  Status BuildNetwork() {
    // Read ahead; parameters coming in and gradients going out.
    const size_t coming =
        ReadAheadBytes(p_.graph, p_.batch) + 2 * p_.parameters.values().size_bytes();
    const Result<size_t> budget = RoomFor(p_.flags, coming);
    if (!budget.ok()) return budget.status();
    compute_->registry().LimitTiming(*budget);
    Result<std::unique_ptr<train::Network>> network = train::Network::Create(
        p_.parameters, compute_->registry(), compute_->parallel(),
        {.batch = p_.batch, .training = true, .keep_gradients = false, .memory_budget = *budget});
    if (!network.ok()) return InWordsOfBoard(p_.flags, network.status());
    network_ = std::move(network).value();
    compute_->KeepTimes();
    return Status::Ok();
  }

  // Round r computes with batch r of this worker's share, however often it is tried.
  Status OpenLoader(train::EpochStep start) {
    const Shape& image = p_.graph.input_shape();
    loader_.reset();
    Result<std::unique_ptr<train::BatchLoader>> loader =
        train::BatchLoader::Create(*train_set_, {.sampling = {.batch = p_.batch,
                                                              .worker = p_.share.index,
                                                              .workers = p_.share.count,
                                                              .seed = p_.job.seed,
                                                              .shuffle = !p_.flags.no_shuffle},
                                                 .height = static_cast<int>(image[1]),
                                                 .width = static_cast<int>(image[2]),
                                                 .augment = !p_.flags.no_augment,
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

  const RealComputeParts p_;
  const UnitTensors tensors_;
  std::unique_ptr<train::Dataset> train_set_;
  std::unique_ptr<ComputeStack> compute_;
  std::unique_ptr<train::Network> network_;
  std::unique_ptr<train::BatchLoader> loader_;
  std::optional<train::Batch> batch_data_;
  int64_t batch_round_ = -1;  // of batch_data_, or the one before the loader's next
};

}  // namespace

Result<std::unique_ptr<RoundCompute>> MakeRealCompute(const RealComputeParts& parts) {
  auto compute = std::make_unique<RealCompute>(parts);
  if (Status status = compute->Prepare(); !status.ok()) return status;
  return std::unique_ptr<RoundCompute>(std::move(compute));
}

}  // namespace weft::apps
