// SPDX-License-Identifier: Apache-2.0
#include "sched/baselines.h"

#include <numeric>

namespace weft::sched {

Cuts SequentialCuts(int length) { return {0, length}; }

Cuts LayerByLayerCuts(int length) {
  Cuts cuts(length + 1);
  std::iota(cuts.begin(), cuts.end(), 0);
  return cuts;
}

}  // namespace weft::sched
