// SPDX-License-Identifier: Apache-2.0
// What many measurements of one thing come to.
#pragma once

#include <vector>

namespace weft::apps {

// Quartiles; between two measurements in proportion, as numpy's percentile does it.
struct Spread {
  double lower = 0;
  double median = 0;
  double upper = 0;
};

// In any order; there must be one.
Spread SpreadOf(std::vector<double> values);

}  // namespace weft::apps
