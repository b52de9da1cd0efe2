// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::apps {

Spread SpreadOf(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], place - static_cast<double>(below));
  };
  return {.lower = at(0.25), .median = at(0.5), .upper = at(0.75)};
}

}  // namespace weft::apps
