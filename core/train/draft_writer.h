// SPDX-License-Identifier: Apache-2.0
// Writes down the steps of one iteration and which buffers they use when. The rules of backward
// live here: who contributes to which gradient, what may be written in place, what is computed
// again because it was not kept.
#pragma once

#include <vector>

#include "core/train/network_builder.h"

namespace weft::train {

// Whether an op only looks at its source differently: Flatten always, Dropout in evaluation.
bool IsView(const Op& op);

class DraftWriter {
 public:
  // dropped[v]: value v is not kept for backward. `builder` has chosen the kernels.
  DraftWriter(NetworkBuilder& builder, const Program& program, const std::vector<bool>& dropped);
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
  // Value `v` where the current phase has it, in the given block; reorders, or in backward
  // computes again, as needed.
  BufferId ValueIn(ValueId v, int block);
  Held ValueNow(ValueId v);
  BufferId Reordered(BufferId from, const Shape& shape, int from_block, int to_block, OpId op);

  void BackwardOp(OpId id);
  // `buffer`, in `block`, is one of the parts of v's gradient.
  void Contribute(ValueId v, Held part, OpId op);
  void Release(BufferId buffer) { --holders_[buffer]; }

  NetworkBuilder& builder_;
  const Program& program_;
  const std::vector<bool>& dropped_;
  Draft draft_;
  bool in_backward_ = false;
  int unit_ = 0;
  int now_ = 0;                  // step number; forward, loss, backward count on
  std::vector<Held> values_;     // by value, as forward left them
  std::vector<Held> again_;      // by value, as computed again in backward
  std::vector<Held> gradients_;  // by value
  std::vector<BufferId> saved_;  // by op
  std::vector<int> holders_;     // by buffer: gradients that still need its content
  std::map<std::pair<BufferId, int>, BufferId> reordered_;  // of a value's buffer, by block
};

}  // namespace weft::train
