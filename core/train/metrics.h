// SPDX-License-Identifier: Apache-2.0
// How good a network is on the images it was shown: mean loss, and how often the right class is its
// first choice (top-1) or among its first five (top-5).
#pragma once

#include <cstdint>
#include <span>

namespace weft::train {

struct Hits {
  int64_t top1 = 0;
  int64_t top5 = 0;
};

// Logits [N][classes], labels [N] within the classes. Of equal logits the lower class comes first.
// One that is not a number is preferred to all others and never a hit, so that a diverged network
// does not look like a trained one.
Hits CountHits(std::span<const float> logits, int classes, std::span<const int32_t> labels);

// The sum over many batches. A value; empty at first.
class Score {
 public:
  void Add(double mean_loss, const Hits& hits, int64_t images);

  int64_t images() const { return images_; }
  // Means over all images; 0 if there were none.
  double loss() const { return Mean(loss_); }
  double top1() const { return Mean(static_cast<double>(hits_.top1)); }
  double top5() const { return Mean(static_cast<double>(hits_.top5)); }

 private:
  double Mean(double sum) const { return images_ == 0 ? 0 : sum / static_cast<double>(images_); }

  int64_t images_ = 0;
  double loss_ = 0;
  Hits hits_;
};

}  // namespace weft::train
