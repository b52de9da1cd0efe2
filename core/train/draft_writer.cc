// SPDX-License-Identifier: Apache-2.0
#include "core/train/draft_writer.h"

#include <algorithm>
#include <cassert>

#include "core/train/elementwise.h"

namespace weft::train {
namespace {

// Whether two blocks put the cells of `shape` into the same places.
bool SameCells(const Shape& shape, int a, int b) {
  if (a == b || shape.rank() != 4) return true;
  return shape[2] * shape[3] == 1 && shape[1] % a == 0 && shape[1] % b == 0;
}

}  // namespace

DraftWriter::DraftWriter(NetworkBuilder& builder, const Program& program, KeepingPlan plan)
    : builder_(builder),
      program_(program),
      plan_(std::move(plan)),
      values_(program.values.size()),
      again_(program.values.size()),
      gradients_(program.values.size()),
      saved_(program.ops.size(), kNoBuffer) {
  const std::vector<OpId> cuts = Cuts(program);
  size_t passed = 0;
  for (OpId id = 0; id < static_cast<OpId>(program.ops.size()); ++id) {
    while (passed < cuts.size() && cuts[passed] < id) ++passed;
    between_.push_back(static_cast<int>(passed));
  }
}

Draft DraftWriter::Write() {
  draft_.images = NewActivation(program_.values[0].shape, 1);
  Use(draft_.images);
  values_[0] = {draft_.images, 1};
  for (OpId id = 0; id < static_cast<OpId>(program_.ops.size()); ++id) ForwardOp(id);
  draft_.logits = ValueIn(program_.output(), 1);
  ++now_;  // here the loss is computed
  Use(draft_.logits);
  if (!builder_.options_.training) return std::move(draft_);

  in_backward_ = true;
  reordered_.clear();  // only forward's copies; backward keeps values in their own block
  draft_.d_logits = NewActivation(program_.values[program_.output()].shape, 1);
  Use(draft_.d_logits);
  unit_ = program_.ops.back().unit;
  Contribute(program_.output(), {draft_.d_logits, 1}, static_cast<OpId>(program_.ops.size()) - 1);
  if (!builder_.options_.keep_gradients) {
    draft_.gradients.assign(static_cast<size_t>(program_.units), kNoBuffer);
  }
  for (OpId id = static_cast<OpId>(program_.ops.size()) - 1; id >= 0; --id) BackwardOp(id);
  LeaveUnit(-1);
  return std::move(draft_);
}

void DraftWriter::LeaveUnit(int next) {
  if (next == unit_) return;
  if (!draft_.gradients.empty()) {
    ++now_;  // here the hook takes the gradients
    Use(draft_.gradients[static_cast<size_t>(unit_)]);
  }
  unit_ = next;
}

BufferId DraftWriter::UnitGradients() {
  if (draft_.gradients.empty()) return kNoBuffer;
  BufferId& buffer = draft_.gradients[static_cast<size_t>(unit_)];
  if (buffer == kNoBuffer) buffer = NewBuffer(builder_.GradientBytes(unit_));
  return buffer;
}

BufferId DraftWriter::NewBuffer(size_t bytes) {
  draft_.buffers.push_back({.bytes = bytes, .first_step = -1, .last_step = -1});
  holders_.push_back(0);
  return static_cast<BufferId>(draft_.buffers.size()) - 1;
}

BufferId DraftWriter::NewActivation(const Shape& shape, int block) {
  return NewBuffer(static_cast<size_t>(ActivationElements(shape, block)) * sizeof(float));
}

void DraftWriter::Use(BufferId buffer) {
  if (buffer == kNoBuffer) return;
  BufferUse& use = draft_.buffers[buffer];
  if (use.first_step < 0) use.first_step = now_;
  use.last_step = now_;
}

void DraftWriter::Emit(DraftStep step) {
  ++now_;
  step.unit = unit_;
  if (step.kernel->scratch_bytes() > 0) step.scratch = NewBuffer(step.kernel->scratch_bytes());
  for (BufferId id : step.srcs) Use(id);
  for (BufferId id : step.d_srcs) Use(id);
  for (BufferId id : {step.dst, step.d_dst, step.saved, step.scratch}) Use(id);
  if (step.with_d_params) Use(UnitGradients());
  (in_backward_ ? draft_.backward : draft_.forward).push_back(std::move(step));
}

void DraftWriter::ForwardOp(OpId id) {
  const Op& op = program_.ops[id];
  unit_ = op.unit;
  if (IsView(op)) {
    values_[op.dst] = {ValueIn(op.srcs[0], 1), 1};
    return;
  }
  Kernel* kernel = builder_.kernels_[id].forward.get();
  DraftStep step{.kernel = kernel, .op = id, .what = "forward", .with_params = true};
  for (ValueId src : op.srcs) step.srcs.push_back(ValueIn(src, kernel->src_block()));
  if (MayOverwriteSource(op, *kernel)) {
    step.dst = step.srcs[0];
    Keeping& source = plan_[op.srcs[0]];  // should backward ask for it after all
    if (source == Keeping::kKept) source = Keeping::kAgain;
  } else {
    step.dst = NewActivation(op.spec.dst, kernel->dst_block());
  }
  if (kernel->saved_bytes() > 0) step.saved = saved_[id] = NewBuffer(kernel->saved_bytes());
  values_[op.dst] = {step.dst, kernel->dst_block()};
  Emit(std::move(step));
}

bool DraftWriter::MayOverwriteSource(const Op& op, const Kernel& kernel) const {
  const ValueId src = op.srcs[0];
  const Value& value = program_.values[src];
  if (!kernel.in_place() || value.shape != op.spec.dst || value.consumers.size() != 1) return false;
  if (value.producer < 0 || IsView(program_.ops[value.producer])) return false;
  if (values_[src].block != kernel.src_block() || kernel.src_block() != kernel.dst_block()) {
    return false;
  }
  return plan_[src] != Keeping::kKept || !builder_.IsReadBackward(src);
}

BufferId DraftWriter::ValueIn(ValueId v, int block) {
  const Held held = ValueNow(v);
  const Shape& shape = program_.values[v].shape;
  if (SameCells(shape, held.block, block)) return held.buffer;
  const auto key = std::pair(held.buffer, block);
  if (const auto known = reordered_.find(key); known != reordered_.end()) return known->second;
  const OpId op = std::max(program_.values[v].producer, 0);
  return reordered_[key] = Reordered(held.buffer, shape, held.block, block, op);
}

DraftWriter::Held DraftWriter::ValueNow(ValueId v) {
  const OpId producer = program_.values[v].producer;
  if (!in_backward_ || producer < 0) return values_[v];
  if (again_[v].buffer != kNoBuffer) return again_[v];
  const Op& op = program_.ops[producer];
  if (IsView(op)) {
    if (plan_[op.srcs[0]] == Keeping::kKept) return values_[v];
    again_[v] = {ValueIn(op.srcs[0], 1), 1};
    return again_[v];
  }
  if (plan_[v] == Keeping::kKept) return values_[v];
  Kernel* kernel = builder_.kernels_[producer].forward.get();
  DraftStep step{.kernel = kernel,
                 .op = producer,
                 .what = "forward again",
                 .again = true,
                 .with_params = true};
  for (ValueId src : op.srcs) step.srcs.push_back(ValueIn(src, kernel->src_block()));
  step.dst = NewActivation(op.spec.dst, kernel->dst_block());
  step.saved = saved_[producer];
  const Held held{step.dst, kernel->dst_block()};
  Emit(std::move(step));
  Remember(v, held);
  return held;
}

void DraftWriter::Remember(ValueId v, Held held) {
  const OpId producer = program_.values[v].producer;
  again_[v] = held;
  if (IsCheap(program_.ops[producer])) {
    cheap_again_.push_back(v);
    return;
  }
  Forget(cheap_again_);
  if (plan_[v] != Keeping::kPassing) {
    Forget(passing_);
  } else if (between_[producer] != between_[backward_op_]) {
    passing_.push_back(v);
  }
}

void DraftWriter::Forget(std::vector<ValueId>& values) {
  for (ValueId v : values) again_[v] = {};
  values.clear();
}

BufferId DraftWriter::Reordered(BufferId from, const Shape& shape, int from_block, int to_block,
                                OpId op) {
  if (SameCells(shape, from_block, to_block)) return from;
  // One kernel object may serve all tensors of a shape.
  const auto key = std::pair(std::pair(static_cast<int>(shape[1]), from_block * 1000 + to_block),
                             static_cast<int>(shape.elements()));
  std::unique_ptr<Kernel>& kernel = builder_.reorders_[key];
  if (!kernel) kernel = builder_.chooser_.ChooseReorder(shape, from_block, to_block);
  const BufferId to = NewActivation(shape, to_block);
  Emit({.kernel = kernel.get(),
        .op = op,
        .what = "reorder",
        .is_reorder = true,
        .srcs = {from},
        .dst = to});
  return to;
}

void DraftWriter::Contribute(ValueId v, Held part, OpId op) {
  if (!builder_.needs_gradient_[v]) return;
  const Shape& shape = program_.values[v].shape;
  Held& gradient = gradients_[v];
  if (gradient.buffer == kNoBuffer) {
    gradient = part;
    ++holders_[part.buffer];
    return;
  }
  part = {Reordered(part.buffer, shape, part.block, gradient.block, op), gradient.block};
  // The sum may take the place of a part that nobody else still needs.
  const bool into_gradient = holders_[gradient.buffer] == 1;
  const bool into_part = !into_gradient && holders_[part.buffer] == 0;
  const BufferId to = into_gradient ? gradient.buffer
                      : into_part   ? part.buffer
                                    : NewActivation(shape, gradient.block);
  const int64_t elements = ActivationElements(shape, gradient.block);
  std::unique_ptr<Kernel>& kernel = builder_.sums_[elements];
  if (!kernel) kernel = SumOfTwo(builder_.parallel_, elements);
  Emit({.kernel = kernel.get(),
        .op = op,
        .what = "sum of gradients",
        .srcs = {gradient.buffer, part.buffer},
        .dst = to});
  Release(gradient.buffer);
  gradient.buffer = to;
  ++holders_[to];
}

void DraftWriter::BackwardOp(OpId id) {
  const Op& op = program_.ops[id];
  Held d_dst = gradients_[op.dst];
  if (d_dst.buffer == kNoBuffer) return;  // nothing to train before it
  LeaveUnit(op.unit);
  backward_op_ = id;
  Forget(cheap_again_);
  if (IsView(op)) {
    Contribute(op.srcs[0], d_dst, id);
    Release(d_dst.buffer);
    return;
  }
  const OpKernels& kernels = builder_.kernels_[id];
  const int dst_block = kernels.forward->dst_block();
  const BufferId arrived = d_dst.buffer;
  d_dst = {Reordered(arrived, op.spec.dst, d_dst.block, dst_block, id), dst_block};
  if (d_dst.buffer != arrived) {
    Release(arrived);
    ++holders_[d_dst.buffer];
  }
  const bool is_add = std::holds_alternative<model::Add>(op.spec.layer);
  const bool masks_itself = std::holds_alternative<model::BatchNorm>(op.spec.layer);
  if (op.spec.activation != Activation::kNone && !masks_itself) {
    const int64_t elements = ActivationElements(op.spec.dst, dst_block);
    std::unique_ptr<Kernel>& kernel =
        builder_.masks_[std::pair(static_cast<int>(op.spec.activation), elements)];
    if (!kernel) kernel = MaskByActivation(builder_.parallel_, op.spec.activation, elements);
    const bool shared = holders_[d_dst.buffer] > 1;
    const BufferId masked = shared ? NewActivation(op.spec.dst, dst_block) : d_dst.buffer;
    Emit({.kernel = kernel.get(),
          .op = id,
          .what = "backward activation",
          .dst = ValueIn(op.dst, dst_block),
          .d_dst = d_dst.buffer,
          .d_srcs = {masked}});
    if (shared) {
      Release(d_dst.buffer);
      ++holders_[masked];
      d_dst.buffer = masked;
    }
  }
  if (is_add) {
    for (ValueId src : op.srcs) Contribute(src, d_dst, id);
    Release(d_dst.buffer);
    return;
  }
  const auto backward_step = [&](Kernel* kernel, const char* what) {
    DraftStep step{.kernel = kernel,
                   .op = id,
                   .what = what,
                   .with_params = true,
                   .d_dst = d_dst.buffer,
                   .saved = kernel->saved_format().empty() ? kNoBuffer : saved_[id]};
    if (kernel->reads_src()) {
      for (ValueId src : op.srcs) step.srcs.push_back(ValueIn(src, kernel->src_block()));
    }
    if (kernel->reads_dst()) step.dst = ValueIn(op.dst, dst_block);
    return step;
  };
  if (kernels.backward_weights) {
    DraftStep step = backward_step(kernels.backward_weights.get(), "backward weights");
    step.with_d_params = true;
    Emit(std::move(step));
  }
  if (kernels.backward_data) {
    Kernel* kernel = kernels.backward_data.get();
    DraftStep step = backward_step(kernel, "backward data");
    step.with_d_params = !kernels.backward_weights && !op.parameters.empty();
    std::vector<Held> parts;
    for (ValueId src : op.srcs) {
      const bool wanted = builder_.needs_gradient_[src];
      const BufferId part = wanted ? PlaceOfSourceGradient(id, src, d_dst, *kernel) : kNoBuffer;
      step.d_srcs.push_back(part);
      parts.push_back({part, kernel->src_block()});
    }
    Emit(std::move(step));
    for (size_t i = 0; i < op.srcs.size(); ++i) {
      if (parts[i].buffer != kNoBuffer) Contribute(op.srcs[i], parts[i], id);
    }
  }
  Release(d_dst.buffer);
}

BufferId DraftWriter::PlaceOfSourceGradient(OpId id, ValueId src, Held d_dst,
                                            const Kernel& kernel) {
  const Op& op = program_.ops[id];
  const Value& value = program_.values[src];
  const int block = kernel.src_block();
  const bool alike = op.srcs.size() == 1 && value.shape == op.spec.dst && block == d_dst.block;
  if (alike && kernel.in_place() && holders_[d_dst.buffer] == 1) return d_dst.buffer;
  const bool computed = value.producer >= 0 && !IsView(program_.ops[value.producer]);
  if (alike && kernel.over_src() && computed && value.consumers.size() == 1 &&
      !builder_.IsReadByProducer(src)) {
    const Held held = ValueNow(src);
    if (held.block == block) {
      plan_[src] = Keeping::kAgain;  // it is gone
      again_[src] = {};
      return held.buffer;
    }
  }
  return NewActivation(value.shape, block);
}

}  // namespace weft::train
