// SPDX-License-Identifier: Apache-2.0
// Which image set a demonstration trains on.
#pragma once

#include <string>

#include "core/shape.h"
#include "core/status.h"

namespace weft::apps {

struct ChosenData {
  std::string spec;  // KIND:PATH
  std::string name;  // "fashion-mnist"
  Shape image;       // [C][H][W]; rank 0 where images differ in size
  int classes = 0;

  std::string ImageText() const;  // "1x28x28", or nothing
};

// `wanted` is KIND:PATH, or a folder that ./dev data filled; empty: what this machine has, real
// images before made-up ones. Fails as OpenDataset does, for what was wanted.
Result<ChosenData> ChooseData(const std::string& wanted);

}  // namespace weft::apps
