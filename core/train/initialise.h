// SPDX-License-Identifier: Apache-2.0
// The parameters a network starts from, drawn as its peer draws them: torchvision's and timm's own
// rules for the models of the zoo, PyTorch's defaults for any other. The same seed gives the same
// bits on every machine and with any number of threads, and a tensor's values depend on its name
// and the seed, not on the tensors around it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/graph.h"
#include "core/parallel.h"
#include "core/train/parameters.h"

namespace weft::train {

// What the values of one tensor are drawn from.
struct Distribution {
  enum class Kind {
    kConstant,  // scale itself
    kUniform,   // from -scale to scale
    kNormal,    // mean 0, standard deviation scale
  };

  Kind kind = Kind::kConstant;
  double scale = 0;
};

// One for each of graph.tensors(). Running means start at 0 and running variances at 1; a batch
// counter has the constant 0.
std::vector<Distribution> InitialDistributions(const model::Graph& graph);

// Fills `values`, the whole of the tensor called `name`.
void Draw(const Distribution& distribution, std::string_view name, uint64_t seed,
          std::span<float> values, Parallel& parallel);

// Sets every tensor of a model to its first values, running statistics and counters too.
void Initialise(Parameters& parameters, uint64_t seed, Parallel& parallel);

}  // namespace weft::train
