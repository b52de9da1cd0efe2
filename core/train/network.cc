// SPDX-License-Identifier: Apache-2.0
#include "core/train/network.h"

#include <cmath>

#include "core/train/network_builder.h"

namespace weft::train {

Result<std::unique_ptr<Network>> Network::Create(Parameters& parameters, KernelChooser& chooser,
                                                 Parallel& parallel, const Options& options) {
  std::unique_ptr<Network> network(new Network(parameters));
  const Status status = NetworkBuilder(*network, chooser, parallel, options).Build();
  if (!status.ok()) return status;
  return network;
}

Result<MemoryTable> Network::Plan(Parameters& parameters, KernelChooser& chooser,
                                  Parallel& parallel, const Options& options) {
  Network network(parameters);
  return NetworkBuilder(network, chooser, parallel, options).Plan();
}

void Network::Run(Step& step, uint64_t draw) {
  step.args.params_version = params_version_[step.params_unit];
  // Ops draw apart from each other.
  step.args.draw = draw * program_.ops.size() + static_cast<uint64_t>(step.op);
  if (clock_ == nullptr) {
    step.kernel->Run(step.args);
    return;
  }
  const int64_t begin = clock_->NowNs();
  step.kernel->Run(step.args);
  step.spent_ns += clock_->NowNs() - begin;
  ++step.runs;
}

void Network::Forward(StepHooks& hooks, uint64_t draw) {
  last_draw_ = draw;
  size_t s = 0;
  for (int unit = 0; unit < program_.units; ++unit) {
    if (hooks.BeforeForward(unit)) ++params_version_[unit];
    for (; s < forward_.size() && forward_[s].unit == unit; ++s) Run(forward_[s], draw);
  }
  if (!training_) return;
  for (int64_t& counter : parameters_.counters()) ++counter;
}

void Network::Backward(StepHooks& hooks) {
  size_t s = 0;
  for (int unit = program_.units - 1; unit >= 0; --unit) {
    for (; s < backward_.size() && backward_[s].unit == unit; ++s) Run(backward_[s], last_draw_);
    hooks.AfterBackward(unit);
  }
}

void Network::ParametersChanged() {
  for (uint64_t& version : params_version_) ++version;
}

std::optional<std::string> Network::FirstNotFinite(uint64_t draw) {
  for (Step& step : forward_) {
    step.args.again = true;
    Run(step, draw);
    step.args.again = false;
    const Op& op = program_.ops[step.op];
    // A reorder step writes its source's cells; the op that made them has been looked at.
    if (step.is_reorder) continue;
    const int64_t elements = ActivationElements(op.spec.dst, step.kernel->dst_block());
    for (int64_t i = 0; i < elements; ++i) {
      if (!std::isfinite(step.args.dst[i])) return op.name;
    }
  }
  return std::nullopt;
}

MemoryTable Network::memory() const { return memory_; }

}  // namespace weft::train
