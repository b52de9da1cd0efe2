// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy with label smoothing: how wrong a batch of logits is, and which way each
// of them should move. PyTorch's cross_entropy(label_smoothing=...), mean over the batch.
#pragma once

#include <cstdint>
#include <span>

#include "core/status.h"

namespace weft::train {

// What a label is aimed at: 1 - smoothing + smoothing / classes for its own class, and
// smoothing / classes for each other one.
//
//   logits    [N][classes], plain layout
//   labels    [N], from 0 to classes - 1
//   d_logits  [N][classes], overwritten; may be `logits` itself; empty if no gradient is wanted
//
// Logits that are not finite make the loss not finite, so a caller that looks at the loss sees a
// diverged network. InvalidInput tells the first label out of range, and a smoothing outside
// [0, 1]; d_logits is untouched then. Allocates nothing.
Result<double> SoftmaxCrossEntropy(std::span<const float> logits, int classes,
                                   std::span<const int32_t> labels, double smoothing,
                                   std::span<float> d_logits);

}  // namespace weft::train
