// SPDX-License-Identifier: Apache-2.0
#include "core/train/batch_loader.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace weft::train {
namespace {

// Enough that the lock is not felt with images of a microsecond, few enough that two threads
// share a small batch of photos.
constexpr int64_t kSamplesPerClaim = 8;

constexpr size_t kMostProblemsNamed = 100;

constexpr int kMostPixels = 4096;  // of one side
// Of one batch: what a pointer can reach, and no more than any machine has.
constexpr int64_t kMostFloats =
    std::min<int64_t>(int64_t{1} << 38, PTRDIFF_MAX / static_cast<int64_t>(sizeof(float)));
constexpr int kMostThreads = 64;
constexpr int kMostBatches = 64;

// What Read reports, whichever way: a set may run out of memory on an image of absurd size.
Result<int> ReadSample(const Dataset& dataset, int64_t index, Image& image) {
  try {
    return dataset.Read(index, image);
  } catch (const std::exception& error) {
    return Status::Unavailable("sample " + std::to_string(index) + " of " + dataset.name() + ": " +
                               error.what());
  }
}

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::Create(const Dataset& dataset,
                                                         const LoaderSetting& setting) {
  LoaderSetting completed = setting;
  completed.sampling.samples = dataset.size();
  if (completed.height == 0) completed.height = static_cast<int>(dataset.image_shape()[1]);
  if (completed.width == 0) completed.width = static_cast<int>(dataset.image_shape()[2]);
  if (completed.height == 0 || completed.width == 0) {
    return Status::InvalidInput("the images of " + dataset.name() +
                                " differ in size; say which height and width the network takes");
  }
  if (completed.height < 1 || completed.height > kMostPixels || completed.width < 1 ||
      completed.width > kMostPixels) {
    return Status::InvalidInput("images of " + std::to_string(completed.height) + " x " +
                                std::to_string(completed.width) +
                                " pixels cannot be made; each side may have 1 to 4096");
  }
  if (setting.threads < 1 || setting.threads > kMostThreads || setting.batches < 2 ||
      setting.batches > kMostBatches) {
    return Status::InvalidInput(
        "loading needs 1 to 64 threads and 2 to 64 batches of memory, not " +
        std::to_string(setting.threads) + " and " + std::to_string(setting.batches));
  }
  Result<Sampler> sampler = Sampler::Create(completed.sampling);
  if (!sampler.ok()) return sampler.status().WithContext(dataset.name());
  const EpochStep start = sampler->Settle(setting.start);
  if (start.epoch < 0 || start.epoch > INT32_MAX || start.step < 0 ||
      start.step >= sampler->steps_per_epoch()) {
    return Status::InvalidInput(
        dataset.name() + " has " + std::to_string(sampler->steps_per_epoch()) +
        " steps per epoch with this batch and these workers, so it cannot go on at epoch " +
        std::to_string(setting.start.epoch) + ", step " + std::to_string(setting.start.step) +
        "; give what the job was started with");
  }
  completed.start = start;
  const Shape shape = {completed.sampling.batch, dataset.image_shape()[0], completed.height,
                       completed.width};
  const Status too_large =
      Status::Unavailable(std::to_string(setting.batches) + " batches of " + shape.ToString() +
                          " floats do not fit into this machine's memory; give a smaller batch");
  if (shape.elements() > kMostFloats) return too_large;
  std::unique_ptr<BatchLoader> loader;
  try {
    loader.reset(new BatchLoader(dataset, completed, std::move(sampler).value(), shape));
    for (int i = 0; i < setting.threads; ++i) {
      loader->threads_.emplace_back([self = loader.get()] { self->Work(); });
    }
  } catch (const std::bad_alloc&) {
    return too_large;
  } catch (const std::system_error& error) {
    return Status::Unavailable("the system gives no thread to read " + dataset.name() +
                               " with: " + error.what());
  }
  return loader;
}

BatchLoader::BatchLoader(const Dataset& dataset, const LoaderSetting& setting, Sampler sampler,
                         Shape shape)
    : dataset_(dataset),
      setting_(setting),
      normaliser_(dataset.normalisation()),
      batch_shape_(shape),
      steps_per_epoch_(sampler.steps_per_epoch()),
      arena_(0),  // each piece in a block of its own, which is aligned
      sampler_(std::move(sampler)),
      next_(setting.start),
      ring_(static_cast<size_t>(setting.batches)),
      unreadable_(static_cast<size_t>(dataset.size())) {
  const auto batch = static_cast<size_t>(setting.sampling.batch);
  for (Slot& slot : ring_) {
    slot.images = arena_.Take<float>(static_cast<size_t>(shape.elements()));
    slot.labels = arena_.Take<int>(batch);
    slot.samples = arena_.Take<int32_t>(batch);
  }
  problems_.reserve(kMostProblemsNamed);
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mu_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<Batch> BatchLoader::Next() {
  std::unique_lock lock(mu_);
  if (lent_) {
    lent_ = false;
    ++released_;
    work_.notify_all();
  }
  const Slot& slot = ring_[released_ % setting_.batches];
  const bool in_time = ready_.wait_for(lock, std::chrono::milliseconds(setting_.timeout_ms), [&] {
    return opened_ > released_ && slot.done == slot.count;
  });
  if (!in_time) {
    return Status::Unavailable(dataset_.name() + " gave no batch within " +
                               std::to_string(setting_.timeout_ms) +
                               " ms; see whether its disk still answers");
  }
  lent_ = true;
  if (!slot.failure.ok()) return slot.failure;
  const auto count = static_cast<size_t>(slot.count);
  const size_t image_size = slot.images.size() / slot.labels.size();
  return Batch{slot.images.first(count * image_size), slot.labels.first(count), slot.count,
               slot.at};
}

void BatchLoader::Work() {
  Image image;
  std::unique_lock lock(mu_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || HasWork(); });
    if (stop_) return;
    const Claim claim = TakeClaim();
    lock.unlock();
    Status failure;
    for (int64_t i = claim.begin; i < claim.end && failure.ok(); ++i) {
      failure = Fill(*claim.slot, i, image);
    }
    lock.lock();
    if (!failure.ok()) claim.slot->failure = std::move(failure);
    claim.slot->done += claim.end - claim.begin;
    if (claim.slot->done == claim.slot->count) ready_.notify_one();
  }
}

bool BatchLoader::HasWork() const {
  if (opened_ > released_) {
    const Slot& newest = ring_[(opened_ - 1) % setting_.batches];
    if (newest.claimed < newest.count) return true;
  }
  return opened_ < released_ + setting_.batches;
}

BatchLoader::Claim BatchLoader::TakeClaim() {
  Slot* slot = opened_ > released_ ? &ring_[(opened_ - 1) % setting_.batches] : nullptr;
  if (slot == nullptr || slot->claimed == slot->count) {
    slot = &ring_[opened_++ % setting_.batches];
    const std::span<const int32_t> samples = sampler_.Batch(next_);
    std::copy(samples.begin(), samples.end(), slot->samples.begin());
    slot->at = next_;
    slot->count = static_cast<int64_t>(samples.size());
    slot->claimed = 0;
    slot->done = 0;
    slot->failure = Status::Ok();
    next_ = sampler_.After(next_);
  }
  const int64_t begin = slot->claimed;
  slot->claimed = std::min(slot->count, begin + kSamplesPerClaim);
  return {slot, begin, slot->claimed};
}

Status BatchLoader::Fill(const Slot& slot, int64_t i, Image& image) {
  const int64_t wanted = slot.samples[i];
  const int height = setting_.height;
  const int width = setting_.width;
  for (int64_t tried = 0; tried < dataset_.size(); ++tried) {
    const int64_t index = (wanted + tried) % dataset_.size();
    const Result<int> label = ReadSample(dataset_, index, image);
    if (!label.ok()) {
      if (!Report(index, label.status().message())) return Status::Ok();  // nobody will look at it
      continue;
    }
    assert(*label >= 0 && *label < dataset_.classes());
    Rng rng = ViewRng(setting_.sampling.seed, slot.at.epoch, wanted);
    const View view = setting_.augment ? RandomView(image, dataset_.variation(), height, width, rng)
                                       : PlainView(image, dataset_.variation(), height, width);
    const size_t image_size = slot.images.size() / slot.labels.size();
    Render(image, view, normaliser_, height, width,
           slot.images.subspan(static_cast<size_t>(i) * image_size, image_size));
    slot.labels[i] = *label;
    return Status::Ok();
  }
  return Status::Unavailable("not one of the " + std::to_string(dataset_.size()) + " samples of " +
                             dataset_.name() + " can be read; " + problems().front().what);
}

bool BatchLoader::Report(int64_t index, const std::string& what) {
  const std::lock_guard lock(mu_);
  if (!unreadable_[index]) {
    unreadable_[index] = true;
    ++problem_count_;
    if (problems_.size() < kMostProblemsNamed) problems_.push_back({index, what});
  }
  return !stop_;
}

int64_t BatchLoader::problem_count() const {
  const std::lock_guard lock(mu_);
  return problem_count_;
}

std::vector<BatchLoader::Problem> BatchLoader::problems() const {
  std::unique_lock lock(mu_);
  std::vector<Problem> named = problems_;
  lock.unlock();
  std::sort(named.begin(), named.end(),
            [](const Problem& a, const Problem& b) { return a.index < b.index; });
  return named;
}

}  // namespace weft::train
