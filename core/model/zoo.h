// SPDX-License-Identifier: Apache-2.0
// The networks weft can train, by name. Their layers, tensor names and shapes are torchvision's
// (timm's for inception_v4), so published weights fit.
#pragma once

#include <span>
#include <string_view>

#include "core/model/graph.h"
#include "core/shape.h"
#include "core/status.h"

namespace weft::model {

// One network with every choice made.
struct ModelSpec {
  std::string_view name;
  Shape input;  // one image, [C][H][W]
  int classes = 0;
};

struct ZooEntry {
  std::string_view name;
  std::string_view description;  // one line
  Shape input;                   // what it is meant for; other sizes may be asked for
  int classes;
  Result<Graph> (*build)(const ModelSpec& spec);  // BuildModel() calls it
};

// In the order of a listing: by family, smaller before larger. Lives as long as the process.
std::span<const ZooEntry> Zoo();

// What differs from the entry's own choice.
struct ModelOptions {
  int classes = 0;   // 0: the entry's
  Shape input = {};  // rank 0: the entry's. The first layer takes as many channels as it has.
};

// NotFound lists the known names. InvalidInput says which layer the options do not suit: an image
// can be too small for a network that halves it often.
Result<Graph> BuildModel(std::string_view name, const ModelOptions& options = {});

}  // namespace weft::model
