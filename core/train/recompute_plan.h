// SPDX-License-Identifier: Apache-2.0
// What to keep for backward and what to compute again, in as little time as a given amount of
// memory allows. The network is cut where a single value leads from what is before to what is
// after. A piece from one cut to a later one is either kept or, but for the value at its end,
// computed again when backward comes to it: then it fills memory only while backward is in it. It
// may also be run through just for the values at the cuts inside, and what is between two of them
// computed a third time when backward comes there.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/train/program.h"

namespace weft::train {

// Whether an op's result costs so little that it is computed again each time it is read, where it
// is not kept: one pass over its source.
bool IsCheap(const Op& op);

struct RecomputeFacts {
  std::vector<size_t> value_bytes;     // by value
  std::vector<bool> is_read_backward;  // by value
  std::vector<size_t>
      scratch_bytes;  // by op: what backward takes besides values and their gradients
};

enum class Keeping {
  kKept,
  kAgain,    // computed again when backward first asks for it, and held from then on
  kPassing,  // the same, but held only while backward is between the same two cuts
};
using KeepingPlan = std::vector<Keeping>;  // by value

// The ops after which one value is all that later ops read of what is before. The first is -1,
// which stands for the batch of images.
std::vector<OpId> Cuts(const Program& program);

// Drops the cheap results whose source is kept anyway: that saves memory for next to no time.
KeepingPlan DropForFree(const Program& program, const RecomputeFacts& facts);

// What an op's forward costs, in multiply-adds.
double ForwardWork(const Op& op);

struct Room {
  size_t bytes = 0;
  // How much of what backward of one piece may need it is taken to really need at once.
  double working_share = 1;
};

// The least work for which activations, their gradients and scratch are estimated to fit, by
// dynamic programming over the cuts. None if they do not.
std::optional<KeepingPlan> DropToFit(const Program& program, const RecomputeFacts& facts,
                                     const Room& room);

}  // namespace weft::train
