// SPDX-License-Identifier: Apache-2.0
#include "core/train/network_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "core/train/draft_writer.h"

namespace weft::train {

NetworkBuilder::NetworkBuilder(Network& network, KernelChooser& chooser, Parallel& parallel,
                               const Network::Options& options)
    : network_(network), chooser_(chooser), parallel_(parallel), options_(options) {
  network_.training_ = options.training;
  network_.program_ = LowerGraph(network_.parameters_.graph(), options.batch, options.training);
  network_.params_version_.assign(network_.program_.units, 1);
}

Status NetworkBuilder::Build() {
  ChooseKernels();
  Result<Draft> draft = DraftWithinBudget();
  if (!draft.ok()) return draft.status();
  Bind(*draft);
  return Status::Ok();
}

void NetworkBuilder::ChooseKernels() {
  const Program& program = network_.program_;
  needs_gradient_.assign(program.values.size(), false);
  for (const Op& op : program.ops) {
    bool from_srcs = false;
    for (ValueId src : op.srcs) from_srcs = from_srcs || needs_gradient_[src];
    needs_gradient_[op.dst] = from_srcs || !op.parameters.empty();
    if (IsView(op)) {
      kernels_.emplace_back();
    } else {
      const bool backward = options_.training && needs_gradient_[op.dst];
      kernels_.push_back(chooser_.Choose(op.spec, backward, backward && from_srcs));
      assert(kernels_.back().forward != nullptr);
    }
  }
}

size_t NetworkBuilder::OwnBytes() const {
  size_t bytes = 0;
  for (const OpKernels& op : kernels_) {
    for (const auto* kernel : {&op.forward, &op.backward_data, &op.backward_weights}) {
      if (*kernel) bytes += (*kernel)->own_bytes();
    }
  }
  return bytes;
}

// Sets of values not to keep, those that cost the least work to compute again first. Cheap values
// (of element-wise ops) are dropped first, a twelfth of them at a time. Then only every n-th value
// is kept, and what lies between two kept ones is computed again when backward comes to it.
std::vector<std::vector<bool>> NetworkBuilder::WaysToDrop() const {
  const Program& program = network_.program_;
  std::vector<ValueId> droppable;
  std::vector<ValueId> cheap;
  for (const Op& op : program.ops) {
    if (IsView(op) || op.dst == program.output()) continue;
    droppable.push_back(op.dst);
    if (op.macs == 0) cheap.push_back(op.dst);
  }
  if (!options_.training) droppable.clear();  // evaluation keeps nothing for later

  struct Way {
    std::vector<bool> dropped;
    double work = 0;
  };
  std::vector<Way> ways;
  const auto add = [&](const std::vector<ValueId>& values) {
    Way way{.dropped = std::vector<bool>(program.values.size(), false)};
    for (ValueId value : values) {
      const Op& op = program.ops[program.values[value].producer];
      way.dropped[value] = true;
      way.work += static_cast<double>(op.macs) + 8.0 * static_cast<double>(op.spec.dst.elements());
    }
    ways.push_back(std::move(way));
  };
  if (droppable.empty()) return {};
  constexpr size_t kParts = 12;
  for (size_t part = 1; part <= kParts && !cheap.empty(); ++part) {
    add({cheap.begin(), cheap.begin() + static_cast<ptrdiff_t>(cheap.size() * part / kParts)});
  }
  for (size_t distance = 2; distance <= droppable.size() && distance <= 32; ++distance) {
    std::vector<ValueId> between;
    for (size_t i = 0; i < droppable.size(); ++i) {
      if (i % distance != 0) between.push_back(droppable[i]);
    }
    add(between);
  }
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way& a, const Way& b) { return a.work < b.work; });
  std::vector<std::vector<bool>> sorted;
  for (Way& way : ways) sorted.push_back(std::move(way.dropped));
  return sorted;
}

Draft NetworkBuilder::DraftFor(const std::vector<bool>& dropped) {
  Draft draft = DraftWriter(*this, network_.program_, dropped).Write();
  draft.plan = PlanMemory(draft.buffers);
  return draft;
}

Result<Draft> NetworkBuilder::DraftWithinBudget() {
  const Program& program = network_.program_;
  std::vector<bool> dropped(program.values.size(), false);
  Draft everything_kept = DraftFor(dropped);
  if (options_.memory_budget == 0) return everything_kept;
  const size_t kept_by_kernels = OwnBytes();
  const size_t budget = options_.memory_budget - std::min(options_.memory_budget, kept_by_kernels);
  if (everything_kept.plan.bytes <= budget) return everything_kept;
  size_t least = everything_kept.plan.bytes;
  for (const std::vector<bool>& trial : WaysToDrop()) {
    Draft draft = DraftFor(trial);
    if (draft.plan.bytes <= budget) return draft;
    least = std::min(least, draft.plan.bytes);
  }
  return Status::InvalidInput(
      "batch " + std::to_string(options_.batch) + " needs at least " +
      std::to_string(((least + kept_by_kernels) >> 20) + 1) +
      " MiB beside parameters and optimizer, even when activations are computed again, and " +
      std::to_string(options_.memory_budget >> 20) +
      " MiB are left; use a smaller batch or a larger memory budget");
}

void NetworkBuilder::Bind(const Draft& draft) {
  Parameters& parameters = network_.parameters_;
  const std::span<std::byte> block = network_.arena_.Take<std::byte>(draft.plan.bytes);
  const auto at = [&](BufferId id) -> std::byte* {
    return id == kNoBuffer ? nullptr : block.data() + draft.plan.offsets[id];
  };
  const auto floats = [&](BufferId id) { return reinterpret_cast<float*>(at(id)); };

  std::map<const Kernel*, std::byte*> own;
  size_t own_bytes = 0;
  const auto own_of = [&](Kernel* kernel) -> std::byte* {
    if (kernel->own_bytes() == 0) return nullptr;
    auto [entry, fresh] = own.try_emplace(kernel, nullptr);
    if (fresh) {
      entry->second = network_.arena_.Take<std::byte>(kernel->own_bytes()).data();
      std::memset(entry->second, 0, kernel->own_bytes());
      own_bytes += kernel->own_bytes();
    }
    return entry->second;
  };

  const auto bind = [&](const std::vector<DraftStep>& drafts, std::vector<Step>& steps) {
    steps.resize(drafts.size());
    for (size_t i = 0; i < drafts.size(); ++i) {
      const DraftStep& from = drafts[i];
      const Op& op = network_.program_.ops[from.op];
      Step& step = steps[i];
      step.kernel = from.kernel;
      step.op = from.op;
      step.unit = from.unit;
      step.params_unit = op.unit;
      step.what = from.what;
      step.is_reorder = from.is_reorder;
      for (BufferId id : from.srcs) step.srcs.push_back(floats(id));
      for (BufferId id : from.d_srcs) step.d_srcs.push_back(floats(id));
      if (from.with_params) {
        for (model::TensorId id : op.parameters)
          step.params.push_back(parameters.Tensor(id).data());
        for (model::TensorId id : op.running) step.running.push_back(parameters.Tensor(id).data());
      }
      if (from.with_d_params) {
        for (model::TensorId id : op.parameters) {
          step.d_params.push_back(parameters.Gradient(id).data());
        }
      }
      step.args = {.srcs = step.srcs,
                   .dst = floats(from.dst),
                   .d_dst = floats(from.d_dst),
                   .d_srcs = step.d_srcs,
                   .params = step.params,
                   .d_params = step.d_params,
                   .running = step.running,
                   .saved = at(from.saved),
                   .scratch = at(from.scratch),
                   .own = own_of(from.kernel),
                   .again = from.again};
    }
  };
  bind(draft.forward, network_.forward_);
  bind(draft.backward, network_.backward_);

  const Program& program = network_.program_;
  const auto whole = [&](BufferId id, const Shape& shape) -> std::span<float> {
    return {floats(id), id == kNoBuffer ? 0 : static_cast<size_t>(shape.elements())};
  };
  network_.images_ = whole(draft.images, program.values[0].shape);
  network_.logits_ = whole(draft.logits, program.values[program.output()].shape);
  network_.d_logits_ = whole(draft.d_logits, program.values[program.output()].shape);

  MemoryTable& memory = network_.memory_;
  memory.parameters = parameters.values().size_bytes();
  memory.statistics = parameters.statistics().size_bytes();
  memory.activations = draft.plan.bytes;
  memory.kernels = own_bytes;
  for (const BufferUse& buffer : draft.buffers) memory.activations_unshared += buffer.bytes;
  for (const DraftStep& step : draft.backward) memory.ops_computed_again += step.again;

  for (OpKernels& kernels : kernels_) {
    for (auto* kernel : {&kernels.forward, &kernels.backward_data, &kernels.backward_weights}) {
      if (*kernel) network_.kernels_.push_back(std::move(*kernel));
    }
  }
  for (auto& [key, kernel] : reorders_) network_.kernels_.push_back(std::move(kernel));
  for (auto& [key, kernel] : masks_) network_.kernels_.push_back(std::move(kernel));
  for (auto& [key, kernel] : sums_) network_.kernels_.push_back(std::move(kernel));
}

}  // namespace weft::train
