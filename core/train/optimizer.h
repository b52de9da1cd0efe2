// SPDX-License-Identifier: Apache-2.0
// Turns gradients into the next parameters: SGD and AdamW as torch.optim defines them, over flat
// arrays, in one pass over memory. A parameter's next value depends on that parameter alone, so
// any cut into slices, any order of them and any number of threads give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "core/parallel.h"
#include "core/status.h"

namespace weft::train {

// torch.optim.SGD with dampening 0. Its state is the momentum; without momentum there is none.
struct Sgd {
  double momentum = 0;
  double weight_decay = 0;  // added to the gradient, times the parameter
  bool nesterov = false;
};

// torch.optim.AdamW. Its state is the mean of the gradients, then the mean of their squares.
struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // taken off the parameter itself, times the learning rate
};

using OptimizerSpec = std::variant<Sgd, AdamW>;

struct OptimizerStep {
  int64_t number = 1;  // counted from 1, over the whole life of the state
  double learning_rate = 0;
};

// What a step works on: three arrays that do not overlap.
struct OptimizerArrays {
  std::span<float> parameters;
  std::span<const float> gradients;  // of parameters [gradients_begin, gradients_begin + size)
  std::span<float> state;            // [state_per_parameter()][parameters], zero before step 1
  int64_t gradients_begin = 0;
};

// Holds no data of its own and never changes. Thread: any; ranges of one step that do not meet may
// be applied at the same time.
class Optimizer {
 public:
  // InvalidInput names the number that makes no sense.
  static Result<Optimizer> Create(const OptimizerSpec& spec);

  // Floats of state for each parameter: 0, 1 or 2.
  int state_per_parameter() const;

  // Moves parameters [begin, end), whose gradients are there, and their state on by one step. Each
  // must be moved exactly once in each step. False if a gradient is not finite; everything is moved
  // all the same. Allocates nothing.
  bool Apply(const OptimizerStep& step, const OptimizerArrays& arrays, int64_t begin, int64_t end,
             Parallel& parallel) const;

 private:
  explicit Optimizer(const OptimizerSpec& spec) : spec_(spec) {}

  OptimizerSpec spec_;
};

}  // namespace weft::train
