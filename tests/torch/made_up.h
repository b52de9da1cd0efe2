// SPDX-License-Identifier: Apache-2.0
// Weights and images that PyTorch can make up too, from names and counters alone, so that golden
// files hold nothing but answers. tools/torch_goldens.py repeats every rule of made_up.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/graph.h"
#include "core/train/dataset.h"
#include "core/train/parameters.h"

namespace weft::train {

// Sets every tensor: weights so that activations stay about 1 from layer to layer, running
// variances positive, counters 0.
void MakeUp(Parameters& parameters);

// The same network without chance: its dropouts keep everything.
model::Graph WithoutDropout(const model::Graph& graph);

// `size` images of `shape`, [C][H][W], with labels.
class MadeUpImages final : public Dataset {
 public:
  MadeUpImages(const Shape& shape, int classes, int64_t size);
  Result<int> Read(int64_t index, Image& image) const override;

 private:
  std::vector<uint8_t> pixels_;  // [size][C][H][W]
  std::vector<int> labels_;      // [size]
};

}  // namespace weft::train
