// SPDX-License-Identifier: Apache-2.0
#include "core/train/metrics.h"

#include <cassert>
#include <cmath>

namespace weft::train {
namespace {

constexpr int kNever = 1 << 30;

// How many classes the network prefers to `label`.
int Rank(const float* row, int classes, int32_t label) {
  const float own = row[label];
  if (std::isnan(own)) return kNever;
  int before = 0;
  for (int c = 0; c < classes; ++c) {
    const bool larger = !(row[c] <= own);  // a NaN too
    if (larger || (row[c] == own && c < label)) ++before;
  }
  return before;
}

}  // namespace

Hits CountHits(std::span<const float> logits, int classes, std::span<const int32_t> labels) {
  assert(logits.size() == labels.size() * static_cast<size_t>(classes));
  Hits hits;
  for (size_t n = 0; n < labels.size(); ++n) {
    assert(labels[n] >= 0 && labels[n] < classes);
    const int rank = Rank(logits.data() + n * static_cast<size_t>(classes), classes, labels[n]);
    if (rank < 1) ++hits.top1;
    if (rank < 5) ++hits.top5;
  }
  return hits;
}

void Score::Add(double mean_loss, const Hits& hits, int64_t images) {
  images_ += images;
  loss_ += mean_loss * static_cast<double>(images);
  hits_.top1 += hits.top1;
  hits_.top5 += hits.top5;
}

}  // namespace weft::train
