// SPDX-License-Identifier: Apache-2.0
// Reads the IDX files of MNIST and the sets made like it: one file of grey images, one of labels,
// each with a header of big-endian sizes, plain or .gz.
#pragma once

#include <memory>
#include <string>

#include "apps/data/open_dataset.h"

namespace weft::apps {

struct IdxKind {
  std::string name;
  int classes = 0;  // 0: one more than the largest label in training
  float mean = 0;
  float deviation = 1;
  train::Variation variation = train::Variation::kNone;
};

Result<std::unique_ptr<train::Dataset>> OpenIdx(const IdxKind& kind, const std::string& folder,
                                                Split split);

}  // namespace weft::apps
