// SPDX-License-Identifier: Apache-2.0
#include "core/train/loss.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace weft::train {
namespace {

Status CheckLabels(std::span<const int32_t> labels, int classes) {
  for (size_t n = 0; n < labels.size(); ++n) {
    if (labels[n] >= 0 && labels[n] < classes) continue;
    return Status::InvalidInput(
        "image " + std::to_string(n) + " of the batch has label " + std::to_string(labels[n]) +
        ", but the network's classes are 0 to " + std::to_string(classes - 1));
  }
  return Status::Ok();
}

// The loss of one image; its gradient, times `scale`, goes to `d_row` unless that is null.
double RowLoss(const float* row, int classes, int32_t label, double smoothing, double scale,
               float* d_row) {
  // Subtracting the largest logit keeps exp from overflowing and changes nothing else.
  const float largest = *std::max_element(row, row + classes);
  const double own = row[label] - largest;
  double sum_of_exp = 0;
  double sum = 0;
  for (int c = 0; c < classes; ++c) {
    const float shifted = row[c] - largest;
    const float e = std::exp(shifted);
    sum += shifted;
    sum_of_exp += e;
    if (d_row != nullptr) d_row[c] = e;
  }
  if (d_row != nullptr) {
    const double to_probability = scale / sum_of_exp;
    const double aim_of_all = scale * smoothing / classes;
    for (int c = 0; c < classes; ++c) {
      d_row[c] = static_cast<float>(d_row[c] * to_probability - aim_of_all);
    }
    d_row[label] -= static_cast<float>(scale * (1 - smoothing));
  }
  const double loss = std::log(sum_of_exp) - (1 - smoothing) * own;
  return smoothing == 0 ? loss : loss - smoothing * sum / classes;
}

}  // namespace

Result<double> SoftmaxCrossEntropy(std::span<const float> logits, int classes,
                                   std::span<const int32_t> labels, double smoothing,
                                   std::span<float> d_logits) {
  assert(classes >= 1 && !labels.empty());
  assert(logits.size() == labels.size() * static_cast<size_t>(classes));
  assert(d_logits.empty() || d_logits.size() == logits.size());
  if (!(smoothing >= 0 && smoothing <= 1)) {
    return Status::InvalidInput("label smoothing must be from 0 to 1, not " +
                                std::to_string(smoothing));
  }
  if (Status status = CheckLabels(labels, classes); !status.ok()) return status;

  const double scale = 1.0 / static_cast<double>(labels.size());
  double sum = 0;
  for (size_t n = 0; n < labels.size(); ++n) {
    const size_t at = n * static_cast<size_t>(classes);
    sum += RowLoss(logits.data() + at, classes, labels[n], smoothing, scale,
                   d_logits.empty() ? nullptr : d_logits.data() + at);
  }
  return sum * scale;
}

}  // namespace weft::train
