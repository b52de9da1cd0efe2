// SPDX-License-Identifier: Apache-2.0
// Reads, augments and normalises batches ahead of the training thread. Threads of its own fill a
// ring of batches whose memory is taken once; which thread fills what, and when, changes no bit
// of any batch.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/arena.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/train/augment.h"
#include "core/train/dataset.h"
#include "core/train/sampler.h"

namespace weft::train {

struct LoaderSetting {
  SamplerSetting sampling = {};  // its `samples` is the set's size, whatever is given here
  int height = 0;                // of the images the network takes; 0: the set's own
  int width = 0;
  bool augment = true;      // false: every image plainly, resized where it has to be
  EpochStep start = {};     // the first batch
  int threads = 1;          // that read and augment
  int batches = 2;          // in the ring, the one in use included
  int timeout_ms = 60'000;  // of one Next
};

// A view of the ring; valid until the next call of Next.
struct Batch {
  std::span<const float> images;  // [count][C][H][W], 64-byte aligned
  std::span<const int> labels;    // [count]
  int64_t count = 0;
  EpochStep at;
};

class BatchLoader {
 public:
  // A sample that could not be read.
  struct Problem {
    int64_t index = 0;
    std::string what;
  };

  // `dataset` must outlive the loader. Refuses a setting that cannot work with it. The threads
  // start at once.
  static Result<std::unique_ptr<BatchLoader>> Create(const Dataset& dataset,
                                                     const LoaderSetting& setting);
  // Waits for the samples being read at the moment.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The next batch, epoch after epoch without end. In the place of a sample that cannot be read
  // stands the next of the set that can, under the first one's random view. Unavailable: the
  // timeout passed, call again; or no sample of the set can be read. Thread: the owner's.
  Result<Batch> Next();

  // Of a full batch: [batch][C][H][W].
  const Shape& batch_shape() const { return batch_shape_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  size_t bytes() const { return arena_.bytes_reserved(); }

  // How many different samples could not be read so far, and the first hundred found, by index.
  // Thread: any.
  int64_t problem_count() const;
  std::vector<Problem> problems() const;

 private:
  // A batch in the ring. Its memory is written unlocked by the threads that claimed samples of
  // it, and read by the owner once all are done; the counts are guarded by mu_.
  struct Slot {
    std::span<float> images;     // [batch][C][H][W]
    std::span<int> labels;       // [batch]
    std::span<int32_t> samples;  // [batch]
    EpochStep at;
    int64_t count = 0;
    int64_t claimed = 0;
    int64_t done = 0;
    Status failure;
  };
  // Samples [begin, end) of a slot.
  struct Claim {
    Slot* slot = nullptr;
    int64_t begin = 0;
    int64_t end = 0;
  };

  BatchLoader(const Dataset& dataset, const LoaderSetting& setting, Sampler sampler, Shape shape);

  void Work();
  bool HasWork() const;  // these two: with mu_ held
  Claim TakeClaim();
  Status Fill(const Slot& slot, int64_t i, Image& image);
  // Whether to go on.
  bool Report(int64_t index, const std::string& what);

  // Fixed after construction.
  const Dataset& dataset_;
  const LoaderSetting setting_;
  const Normaliser normaliser_;
  const Shape batch_shape_;
  const int64_t steps_per_epoch_;
  Arena arena_;
  std::vector<std::thread> threads_;

  // The owner's.
  bool lent_ = false;  // whether the slot of released_ is in the owner's hands

  // Guarded by mu_.
  mutable std::mutex mu_;
  std::condition_variable work_;   // there may be a sample to claim, or it is time to stop
  std::condition_variable ready_;  // a slot is done
  bool stop_ = false;
  Sampler sampler_;
  EpochStep next_;                // what the next slot opened will hold
  std::vector<Slot> ring_;        // batch number i is in slot i % size
  int64_t opened_ = 0;            // batches whose samples have been, or are being, claimed
  int64_t released_ = 0;          // batches the owner is done with
  std::vector<bool> unreadable_;  // by sample
  int64_t problem_count_ = 0;
  std::vector<Problem> problems_;
};

}  // namespace weft::train
