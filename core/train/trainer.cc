// SPDX-License-Identifier: Apache-2.0
#include "core/train/trainer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "core/model/units.h"
#include "core/train/loss.h"

namespace weft::train {
namespace {

constexpr std::string_view kStateName = "trainer";

template <typename T>
std::span<const std::byte> Bytes(const std::span<T>& values) {
  return std::as_bytes(values);
}

// The numbers of a state, besides the big arrays.
struct Place {
  int64_t steps_done = 0;
  int64_t epoch = 0;
  int64_t step = 0;
};

Status CopyPart(std::span<const std::byte> from, std::span<std::byte> to, const char* what) {
  if (from.size() != to.size()) {
    return Status::InvalidInput("the checkpoint's " + std::string(what) + " are " +
                                std::to_string(from.size()) + " bytes where this model has " +
                                std::to_string(to.size()) + "; was it another model's?");
  }
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  return Status::Ok();
}

}  // namespace

Trainer::Trainer(const Parts& parts, const TrainerSetting& setting)
    : parts_(parts),
      setting_(setting),
      optimizer_state_(parts.parameters.values().size() *
                           static_cast<size_t>(parts.optimizer.state_per_parameter()),
                       0.0f),
      update_({.parameters = parts.parameters,
               .network = parts.network,
               .optimizer = parts.optimizer,
               .optimizer_state = optimizer_state_,
               .parallel = parts.parallel,
               .clock = parts.clock,
               .next = parts.hooks}) {}

Result<StepReport> Trainer::Step(BatchLoader& loader) {
  const int64_t start = parts_.clock.NowNs();
  Result<Batch> batch = loader.Next();
  if (!batch.ok()) return batch.status();
  const double rate =
      setting_.learning_rate * setting_.schedule.FactorAt(steps_done_, setting_.total_steps);
  update_.StartUpdate({.number = steps_done_ + 1, .learning_rate = rate});
  Result<StepReport> report = ComputeStep({.network = parts_.network,
                                           .forward_hooks = parts_.hooks,
                                           .backward_hooks = update_,
                                           .clock = parts_.clock,
                                           .label_smoothing = setting_.label_smoothing,
                                           .seed = setting_.seed},
                                          steps_done_, *batch);
  if (!report.ok()) return report;
  parts_.network.ParametersChanged();
  if (const std::optional<int> unit = update_.bad_unit()) {
    const std::string name =
        model::CutIntoUnits(parts_.parameters.graph())[static_cast<size_t>(*unit)].name;
    return Status::InvalidInput("the gradients of step " + std::to_string(steps_done_ + 1) +
                                " are not finite, in unit '" + name +
                                "' first: try a lower learning rate or a warm-up");
  }
  ++steps_done_;
  position_ = {batch->at.epoch, batch->at.step + 1};
  report->backward_ns -= update_.spent_ns();
  report->update_ns = update_.spent_ns();
  report->total_ns = parts_.clock.NowNs() - start;
  return report;
}

Status Trainer::Save(Storage& storage, const std::string& fingerprint) const {
  const Place place{steps_done_, position_.epoch, position_.step};
  const Parameters& parameters = parts_.parameters;
  const std::span<const std::byte> parts[] = {
      Bytes(std::span(fingerprint)), Bytes(std::span(&place, 1)),
      Bytes(parameters.values()),    Bytes(parameters.statistics()),
      Bytes(parameters.counters()),  Bytes(std::span(optimizer_state_))};
  return storage.Save(kStateName, parts);
}

Result<std::string> Trainer::Restore(Storage& storage, const std::string& fingerprint) {
  Result<StoredState> state = storage.Load(kStateName);
  if (!state.ok()) return state.status();
  if (state->parts.size() != 6) return Status::InvalidInput("the checkpoint is not a trainer's");
  const std::span<const std::byte> saved = state->parts[0];
  const std::string saved_fingerprint(reinterpret_cast<const char*>(saved.data()), saved.size());
  if (saved_fingerprint != fingerprint) {
    return Status::InvalidInput("the checkpoint was made with '" + saved_fingerprint +
                                "' and this run is '" + fingerprint +
                                "'; use the same settings, or another folder");
  }
  Place place;
  Parameters& parameters = parts_.parameters;
  const struct {
    std::span<std::byte> to;
    const char* what;
  } wanted[] = {{std::as_writable_bytes(std::span(&place, 1)), "place"},
                {std::as_writable_bytes(parameters.values()), "parameters"},
                {std::as_writable_bytes(parameters.statistics()), "running statistics"},
                {std::as_writable_bytes(parameters.counters()), "batch counters"},
                {std::as_writable_bytes(std::span(optimizer_state_)), "optimizer numbers"}};
  for (size_t i = 0; i < std::size(wanted); ++i) {
    const Status status = CopyPart(state->parts[i + 1], wanted[i].to, wanted[i].what);
    if (!status.ok()) return status;
  }
  steps_done_ = place.steps_done;
  position_ = {place.epoch, place.step};
  parts_.network.ParametersChanged();
  return state->fallback;
}

Result<Score> Evaluate(Network& network, BatchLoader& loader) {
  NullHooks hooks;
  Score score;
  network.ParametersChanged();
  const int64_t batch_size = loader.batch_shape()[0];
  for (int64_t step = 0; step < loader.steps_per_epoch(); ++step) {
    Result<Batch> batch = loader.Next();
    if (!batch.ok()) return batch.status();
    std::copy(batch->images.begin(), batch->images.end(), network.images().begin());
    network.Forward(hooks, 0);
    const int classes = static_cast<int>(network.logits().size() / static_cast<size_t>(batch_size));
    const std::span<const float> logits =
        network.logits().first(static_cast<size_t>(batch->count * classes));
    const Hits hits = CountHits(logits, classes, batch->labels);
    Result<double> loss = SoftmaxCrossEntropy(logits, classes, batch->labels, 0, {});
    if (!loss.ok()) return loss.status();
    score.Add(*loss, hits, batch->count);
  }
  return score;
}

}  // namespace weft::train
