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

bool IsView(const Op& op) {
  if (std::holds_alternative<model::Flatten>(op.spec.layer)) return true;
  return std::holds_alternative<model::Dropout>(op.spec.layer) && !op.spec.training;
}

DraftWriter::DraftWriter(NetworkBuilder& builder, const Program& program,
                         const std::vector<bool>& dropped)
    : builder_(builder),
      program_(program),
      dropped_(dropped),
      values_(program.values.size()),
      again_(program.values.size()),
      gradients_(program.values.size()),
      saved_(program.ops.size(), kNoBuffer) {}

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
  for (OpId id = static_cast<OpId>(program_.ops.size()) - 1; id >= 0; --id) BackwardOp(id);
  return std::move(draft_);
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
  step.dst = NewActivation(op.spec.dst, kernel->dst_block());
  if (kernel->saved_bytes() > 0) step.saved = saved_[id] = NewBuffer(kernel->saved_bytes());
  values_[op.dst] = {step.dst, kernel->dst_block()};
  Emit(std::move(step));
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
    if (!dropped_[op.srcs[0]]) return values_[v];
    again_[v] = {ValueIn(op.srcs[0], 1), 1};
    return again_[v];
  }
  if (!dropped_[v]) return values_[v];
  Kernel* kernel = builder_.kernels_[producer].forward.get();
  DraftStep step{.kernel = kernel,
                 .op = producer,
                 .what = "forward again",
                 .again = true,
                 .with_params = true};
  for (ValueId src : op.srcs) step.srcs.push_back(ValueIn(src, kernel->src_block()));
  step.dst = NewActivation(op.spec.dst, kernel->dst_block());
  step.saved = saved_[producer];
  again_[v] = {step.dst, kernel->dst_block()};
  Emit(std::move(step));
  return again_[v];
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
  unit_ = op.unit;
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
      const BufferId part =
          wanted ? NewActivation(program_.values[src].shape, kernel->src_block()) : kNoBuffer;
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

}  // namespace weft::train
