// SPDX-License-Identifier: Apache-2.0
// Where buffers lie in one block of memory, given from which step to which each is in use:
// buffers whose uses do not meet may share their place.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::train {

struct BufferUse {
  size_t bytes = 0;
  int first_step = 0;  // inclusive
  int last_step = 0;   // inclusive
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // by buffer; multiples of 64
  size_t bytes = 0;             // of the block
};

// Largest buffers first, each into the lowest gap that is free for all of its steps.
MemoryPlan PlanMemory(const std::vector<BufferUse>& buffers);

// No plan can be smaller: the most bytes in use at one step.
size_t PeakUse(const std::vector<BufferUse>& buffers);

// The bytes in use beyond `limit`, added up over the steps at which the use changes: 0 if none.
size_t UseBeyond(const std::vector<BufferUse>& buffers, size_t limit);

}  // namespace weft::train
