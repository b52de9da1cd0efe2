// SPDX-License-Identifier: Apache-2.0
#include "core/train/network_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <optional>

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

Result<MemoryTable> NetworkBuilder::Plan() {
  ChooseKernels();
  Result<Draft> draft = DraftWithinBudget();
  if (!draft.ok()) return draft.status();
  return TableOf(*draft);
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

size_t NetworkBuilder::GradientBytes(int unit) const {
  const Parameters::Range range = network_.parameters_.UnitRange(unit, unit);
  return static_cast<size_t>(range.end - range.begin) * sizeof(float);
}

bool NetworkBuilder::IsReadByProducer(ValueId v) const {
  const Value& value = network_.program_.values[v];
  if (value.producer < 0 || !needs_gradient_[v]) return false;
  const Op& op = network_.program_.ops[value.producer];
  const bool masks_itself = std::holds_alternative<model::BatchNorm>(op.spec.layer);
  if (op.spec.activation != Activation::kNone && !masks_itself) return true;
  const OpKernels& kernels = kernels_[value.producer];
  return (kernels.backward_data && kernels.backward_data->reads_dst()) ||
         (kernels.backward_weights && kernels.backward_weights->reads_dst());
}

bool NetworkBuilder::IsReadBackward(ValueId v) const {
  if (!options_.training) return false;
  const Program& program = network_.program_;
  const std::vector<OpId>& consumers = program.values[v].consumers;
  if (IsReadByProducer(v)) return true;
  return std::any_of(consumers.begin(), consumers.end(), [&](OpId id) {
    if (IsView(program.ops[id])) return IsReadBackward(program.ops[id].dst);
    const OpKernels& kernels = kernels_[id];
    return (kernels.backward_data && kernels.backward_data->reads_src()) ||
           (kernels.backward_weights && kernels.backward_weights->reads_src());
  });
}

RecomputeFacts NetworkBuilder::Facts() const {
  const Program& program = network_.program_;
  RecomputeFacts facts;
  for (ValueId v = 0; v < static_cast<ValueId>(program.values.size()); ++v) {
    const OpId producer = program.values[v].producer;
    const bool computed = producer >= 0 && kernels_[producer].forward;
    const int block = computed ? kernels_[producer].forward->dst_block() : 1;
    facts.value_bytes.push_back(
        static_cast<size_t>(ActivationElements(program.values[v].shape, block)) * sizeof(float));
    facts.is_read_backward.push_back(IsReadBackward(v));
  }
  for (size_t id = 0; id < kernels_.size(); ++id) {
    const OpKernels& kernels = kernels_[id];
    size_t most = 0;
    for (const auto* kernel :
         {&kernels.forward, &kernels.backward_data, &kernels.backward_weights}) {
      if (*kernel) most = std::max(most, (*kernel)->scratch_bytes());
    }
    const Op& op = program.ops[id];
    if (!options_.keep_gradients && !op.parameters.empty()) most += GradientBytes(op.unit);
    facts.scratch_bytes.push_back(most);
  }
  return facts;
}

Draft NetworkBuilder::DraftFor(const KeepingPlan& plan) {
  Draft draft = DraftWriter(*this, network_.program_, plan).Write();
  draft.plan = PlanMemory(draft.buffers);
  return draft;
}

NetworkBuilder::Trial NetworkBuilder::TrialOf(const KeepingPlan& plan, size_t budget) {
  const Draft draft = DraftWriter(*this, network_.program_, plan).Write();
  Trial trial{.plan = plan, .over = UseBeyond(draft.buffers, budget)};
  for (const DraftStep& step : draft.backward) {
    if (step.again) trial.work += ForwardWork(network_.program_.ops[step.op]);
  }
  return trial;
}

// Tries other ways to keep what is between two cuts, and the value at a cut, one at a time, as long
// as that helps and not for too long.
void NetworkBuilder::Improve(Trial& best, size_t budget) {
  constexpr int kMostTrials = 300;
  constexpr int kMostToFit = 900;
  const Program& program = network_.program_;
  const std::vector<OpId> cuts = Cuts(program);
  int trials = 0;
  const auto attempt = [&](OpId first, OpId last, Keeping keeping) {
    KeepingPlan plan = best.plan;
    for (OpId id = first; id <= last; ++id) {
      const Op& op = program.ops[id];
      const bool fixed = IsView(op) || op.dst == program.output();
      if (!fixed) plan[op.dst] = IsCheap(op) && keeping == Keeping::kKept ? plan[op.dst] : keeping;
    }
    const int most = best.over > 0 ? kMostToFit : kMostTrials;
    if (plan == best.plan || trials >= most) return false;
    ++trials;
    Trial trial = TrialOf(plan, budget);
    if (!(trial < best)) return false;
    best = std::move(trial);
    return true;
  };
  for (bool helped = true; helped;) {
    helped = false;
    for (size_t cut = 1; cut < cuts.size(); ++cut) {
      const OpId first = cuts[cut - 1] + 1;
      const OpId last = cuts[cut];
      for (Keeping keeping : {Keeping::kKept, Keeping::kAgain}) {
        helped = attempt(last, last, keeping) || helped;
      }
      for (Keeping keeping : {Keeping::kKept, Keeping::kAgain, Keeping::kPassing}) {
        helped = attempt(first, last - 1, keeping) || helped;
      }
    }
  }
}

KeepingPlan NetworkBuilder::PlanForNextToNothing(const RecomputeFacts& facts) {
  const Program& program = network_.program_;
  const KeepingPlan free = DropForFree(program, facts);
  const size_t peak = PeakUse(DraftWriter(*this, program, free).Write().buffers);
  double most_work = TrialOf(free, peak).work;
  for (const Op& op : program.ops) most_work += 0.02 * ForwardWork(op);
  for (size_t percent : {80, 85, 90, 95}) {
    const size_t bytes = peak / 100 * percent;
    for (double working_share : {1.0, 0.6}) {
      const auto plan = DropToFit(program, facts, {.bytes = bytes, .working_share = working_share});
      if (!plan) continue;
      const Trial trial = TrialOf(*plan, bytes);
      if (trial.over == 0 && trial.work <= most_work) return *plan;
    }
  }
  return free;
}

KeepingPlan NetworkBuilder::PlanToFit(const RecomputeFacts& facts, size_t budget) {
  const Program& program = network_.program_;
  // The planner only estimates what a plan takes, and what backward needs more roughly than what is
  // kept, so plans are made for several ways to err. The more memory a plan was allowed the less it
  // computes again: of each way the first that really fits is the best.
  Trial best = TrialOf(DropForFree(program, facts), budget);
  for (int working_percent : {100, 80, 60, 45, 30}) {
    Trial best_of_way = best;
    KeepingPlan last;
    for (int percent = 160; percent > 20; percent -= 4) {
      const std::optional<KeepingPlan> plan =
          DropToFit(program, facts,
                    {.bytes = budget / 100 * static_cast<size_t>(percent),
                     .working_share = working_percent / 100.0});
      if (!plan) break;
      if (*plan == last) continue;
      last = *plan;
      Trial trial = TrialOf(*plan, budget);
      const bool fits = trial.over == 0;
      if (percent == 160 || trial < best_of_way) best_of_way = std::move(trial);
      if (fits) break;
    }
    Improve(best_of_way, budget);
    if (best_of_way < best) best = std::move(best_of_way);
  }
  return best.plan;
}

Result<Draft> NetworkBuilder::DraftWithinBudget() {
  const RecomputeFacts facts = Facts();
  Draft frugal = DraftFor(options_.training ? PlanForNextToNothing(facts)
                                            : DropForFree(network_.program_, facts));
  if (options_.memory_budget == 0) return frugal;
  const size_t kept_by_kernels = OwnBytes();
  const size_t budget = options_.memory_budget - std::min(options_.memory_budget, kept_by_kernels);
  if (frugal.plan.bytes <= budget) return frugal;
  // Plans are made for what is in use at once; laid out they may take somewhat more.
  size_t least = frugal.plan.bytes;
  for (int percent : {100, 97, 93, 88}) {
    Draft draft = DraftFor(PlanToFit(facts, budget / 100 * static_cast<size_t>(percent)));
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

MemoryTable NetworkBuilder::TableOf(const Draft& draft) const {
  const Parameters& parameters = network_.parameters_;
  MemoryTable memory{.parameters = parameters.values().size_bytes(),
                     .statistics = parameters.statistics().size_bytes(),
                     .activations = draft.plan.bytes,
                     .kernels = OwnBytes()};
  if (options_.training && options_.keep_gradients) memory.gradients = memory.parameters;
  for (const BufferUse& buffer : draft.buffers) memory.activations_unshared += buffer.bytes;
  double all = 0;
  double again = 0;
  for (const Op& op : network_.program_.ops) all += ForwardWork(op);
  for (const DraftStep& step : draft.backward) {
    if (!step.again) continue;
    ++memory.ops_computed_again;
    again += ForwardWork(network_.program_.ops[step.op]);
  }
  memory.work_again = again / all;
  return memory;
}

void NetworkBuilder::PlaceGradients(const Draft& draft, std::byte* block) {
  if (!options_.training) return;
  Parameters& parameters = network_.parameters_;
  std::span<float> kept;
  if (options_.keep_gradients) kept = network_.arena_.Take<float>(parameters.values().size());
  for (int unit = 0; unit < network_.program_.units; ++unit) {
    const Parameters::Range range = parameters.UnitRange(unit, unit);
    const auto count = static_cast<size_t>(range.end - range.begin);
    if (options_.keep_gradients) {
      network_.gradients_.push_back(kept.subspan(static_cast<size_t>(range.begin), count));
      continue;
    }
    const BufferId id = draft.gradients[static_cast<size_t>(unit)];
    if (id == kNoBuffer) {
      network_.gradients_.emplace_back();
    } else {
      auto* first = reinterpret_cast<float*>(block + draft.plan.offsets[id]);
      network_.gradients_.emplace_back(first, count);
    }
  }
}

void NetworkBuilder::Bind(const Draft& draft) {
  Parameters& parameters = network_.parameters_;
  const std::span<std::byte> block = network_.arena_.Take<std::byte>(draft.plan.bytes);
  const auto at = [&](BufferId id) -> std::byte* {
    return id == kNoBuffer ? nullptr : block.data() + draft.plan.offsets[id];
  };
  const auto floats = [&](BufferId id) { return reinterpret_cast<float*>(at(id)); };

  std::map<const Kernel*, std::byte*> own;
  const auto own_of = [&](Kernel* kernel) -> std::byte* {
    if (kernel->own_bytes() == 0) return nullptr;
    auto [entry, fresh] = own.try_emplace(kernel, nullptr);
    if (fresh) {
      entry->second = network_.arena_.Take<std::byte>(kernel->own_bytes()).data();
      std::memset(entry->second, 0, kernel->own_bytes());
    }
    return entry->second;
  };

  PlaceGradients(draft, block.data());
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
        const Parameters::Range range = parameters.UnitRange(op.unit, op.unit);
        const float* first = parameters.values().data() + range.begin;
        for (model::TensorId id : op.parameters) {
          step.d_params.push_back(network_.gradients_[static_cast<size_t>(op.unit)].data() +
                                  (parameters.Tensor(id).data() - first));
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

  network_.memory_ = TableOf(draft);
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
