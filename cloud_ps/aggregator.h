// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a server: the workers' gradients are averaged by their weights and the
// optimizer takes one step with the mean; running statistics become their mean. A float's next
// value depends on that float's column alone, summed in the order given and rounded after every
// operation, so any slices, any order of them and any number of threads give the same bits. A
// single worker's step has the bits of the same step taken at home.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cloud_ps/keeper.h"
#include "core/parallel.h"
#include "core/train/optimizer.h"
#include "net/wire_layout.h"

namespace weft::ps {

// What one worker sent, and how much it counts.
struct Summand {
  const float* floats = nullptr;  // [floats of the server's part]: gradients and statistics
  uint32_t weight = 1;            // at least 1
};

// The server's part of the model in two versions, and the optimizer's state, which is moved where
// it lies. None of them overlap.
struct ServerArrays {
  std::span<const float> current;  // [floats]
  std::span<float> next;           // [floats]
  std::span<float> state;          // [state per parameter][floats], unused where statistics are
};

// Fixed after construction. Thread: any; slices of one round that do not meet may be moved at the
// same time, each with a Parallel of its own.
class Aggregator {
 public:
  // The server's part is `units` of `layout`; its floats are counted from its own start.
  Aggregator(const net::WireLayout& layout, net::WireLayout::UnitRange units,
             const train::Optimizer& optimizer);

  int64_t floats() const { return floats_; }
  int64_t state_floats() const { return optimizer_.state_per_parameter() * floats_; }

  // Moves `slice` on by one step: `mean` [slice] becomes the mean of the summands, of which there
  // is at least one, and `next` and `state` follow from it. Each slice must be moved exactly once
  // in each step. False if some of the mean, of what comes next or of its state is not finite;
  // everything is moved all the same. Allocates nothing.
  bool Aggregate(const train::OptimizerStep& step, net::FloatRange slice,
                 std::span<const Summand> summands, std::span<float> mean,
                 const ServerArrays& arrays, Parallel& parallel) const;

  // The same from the mean that Aggregate left in a journal.
  bool Redo(const train::OptimizerStep& step, const JournalRecord& record,
            const ServerArrays& arrays, Parallel& parallel) const;

 private:
  // Moves floats that are in cache together, all within a slice that `mean` begins with.
  bool MoveBlock(const train::OptimizerStep& step, net::FloatRange block, const float* mean,
                 const ServerArrays& arrays) const;

  train::Optimizer optimizer_;
  int64_t floats_;
  std::vector<int64_t> borders_;  // ends of runs: parameters, statistics, parameters, ...
};

}  // namespace weft::ps
