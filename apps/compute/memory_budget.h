// SPDX-License-Identifier: Apache-2.0
// From what a person or a board allows the whole program to what is left for the activations, and
// to the batch that fits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "apps/compute/compute_stack.h"
#include "core/model/graph.h"
#include "core/status.h"

namespace weft::apps {

// What of `budget`, as ParseBytes reads it, is left when this process has taken what it holds now
// and the `coming` bytes that it will need besides. 0, which is no limit, for an empty text.
Result<size_t> BytesLeft(const std::string& budget, size_t coming);

size_t ParameterBytes(const model::Graph& graph);
// What is read ahead of the trainer.
size_t ReadAheadBytes(const model::Graph& graph, int batch);

// What a fit is asked for.
struct FitQuestion {
  int batch = 1;            // to begin with
  size_t budget_bytes = 0;  // for the whole program; 0: no limit
  size_t held_bytes = 0;    // what the program holds before the model is made
  // Of the parameters, besides themselves: the optimizer's; in a job what comes in and what goes
  // out.
  int copies = 1;
};

struct Fit {
  int batch = 0;
  size_t bytes = 0;       // of the whole program
  double work_again = 0;  // computed again in backward, as a share of forward
};

// The batch of `question`, or the half of it, and so on, that can be trained within the budget with
// next to nothing computed again; batch 1 as long as it fits at all. None where that does not.
// Nothing is run, and no memory taken but for the plan. `compute` should not measure.
std::optional<Fit> FitBatch(const model::Graph& graph, const FitQuestion& question,
                            ComputeStack& compute);

}  // namespace weft::apps
