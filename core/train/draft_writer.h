// SPDX-License-Identifier: Apache-2.0
// Writes down the steps of one iteration and which buffers they use when. The rules of backward
// live here: who contributes to which gradient, what may be written in place, what is computed
// again because it was not kept.
#pragma once

#include <vector>

#include "core/train/network_builder.h"

namespace weft::train {

class DraftWriter {
 public:
  // `plan` is what of the values is kept for backward. `builder` has chosen the kernels.
  DraftWriter(NetworkBuilder& builder, const Program& program, KeepingPlan plan);
  Draft Write();

 private:
  // A value or a gradient in memory.
  struct Held {
    BufferId buffer = kNoBuffer;
    int block = 1;
  };

  BufferId NewBuffer(size_t bytes);
  BufferId NewActivation(const Shape& shape, int block);
  void Use(BufferId buffer);
  void Emit(DraftStep step);

  void ForwardOp(OpId id);
  // Whether the op may write its result over its first source.
  bool MayOverwriteSource(const Op& op, const Kernel& kernel) const;
  // Value `v` where the current phase has it, in the given block; reorders, or in backward
  // computes again, as needed.
  BufferId ValueIn(ValueId v, int block);
  Held ValueNow(ValueId v);
  BufferId Reordered(BufferId from, const Shape& shape, int from_block, int to_block, OpId op);

  // Cheap values computed again serve one reader and are then forgotten; values computed only in
  // passing, when the next cut is reached.
  void Remember(ValueId v, Held held);
  void Forget(std::vector<ValueId>& values);
  // Where op `id` finds the gradient of its source a place: over that of its result, over the
  // source itself, or a new one.
  BufferId PlaceOfSourceGradient(OpId id, ValueId src, Held d_dst, const Kernel& kernel);

  void BackwardOp(OpId id);
  // Backward goes on to another unit, or to the end.
  void LeaveUnit(int next);
  BufferId UnitGradients();
  // `buffer`, in `block`, is one of the parts of v's gradient.
  void Contribute(ValueId v, Held part, OpId op);
  void Release(BufferId buffer) { --holders_[buffer]; }

  NetworkBuilder& builder_;
  const Program& program_;
  KeepingPlan plan_;
  std::vector<int> between_;  // by op: how many cuts are before it
  Draft draft_;
  bool in_backward_ = false;
  int unit_ = 0;
  OpId backward_op_ = 0;              // whose backward is being written
  int now_ = 0;                       // step number; forward, loss, backward count on
  std::vector<Held> values_;          // by value, as forward left them
  std::vector<Held> again_;           // by value, as computed again in backward
  std::vector<ValueId> cheap_again_;  // of those in again_
  std::vector<ValueId> passing_;      // of those in again_
  std::vector<Held> gradients_;       // by value
  std::vector<BufferId> saved_;       // by op
  std::vector<int> holders_;          // by buffer: gradients that still need its content
  std::map<std::pair<BufferId, int>, BufferId> reordered_;  // of a value's buffer, by block
};

}  // namespace weft::train
