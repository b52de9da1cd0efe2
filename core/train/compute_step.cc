// SPDX-License-Identifier: Apache-2.0
#include "core/train/compute_step.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <string>

#include "core/train/loss.h"
#include "core/train/metrics.h"

namespace weft::train {

Result<StepReport> ComputeStep(const StepParts& parts, int64_t number, const Batch& batch) {
  Network& network = parts.network;
  assert(batch.images.size() == network.images().size());
  std::copy(batch.images.begin(), batch.images.end(), network.images().begin());
  StepReport report{.step = number + 1, .at = batch.at, .images = batch.count};

  const uint64_t draw = (parts.seed << 40) + static_cast<uint64_t>(number);
  parts.forward_hooks.BeginStep(number);
  const int64_t forward_begin = parts.clock.NowNs();
  network.Forward(parts.forward_hooks, draw);
  parts.forward_hooks.EndForward();
  if (parts.forward_hooks.Abandoned()) {
    parts.forward_hooks.EndStep();
    report.abandoned = true;
    report.forward_ns = parts.clock.NowNs() - forward_begin;
    return report;
  }
  const int classes = static_cast<int>(network.logits().size() / batch.labels.size());
  Result<double> loss = SoftmaxCrossEntropy(network.logits(), classes, batch.labels,
                                            parts.label_smoothing, network.d_logits());
  if (!loss.ok()) return loss.status();
  if (!std::isfinite(*loss)) {
    const std::optional<std::string> where = network.FirstNotFinite(draw);
    return Status::InvalidInput("the loss of step " + std::to_string(number + 1) +
                                " is not finite; the first layer that overflows is '" +
                                where.value_or("the loss itself") +
                                "': try a lower learning rate or a warm-up");
  }
  report.loss = *loss;
  report.correct = CountHits(network.logits(), classes, batch.labels).top1;
  const int64_t backward_begin = parts.clock.NowNs();
  network.Backward(parts.backward_hooks);
  parts.forward_hooks.EndStep();
  report.forward_ns = backward_begin - forward_begin;
  report.backward_ns = parts.clock.NowNs() - backward_begin;
  return report;
}

}  // namespace weft::train
