// SPDX-License-Identifier: Apache-2.0
#include "core/train/update_hooks.h"

namespace weft::train {

void UpdateHooks::StartUpdate(const OptimizerStep& step) {
  step_ = step;
  spent_ns_ = 0;
  bad_unit_.reset();
}

void UpdateHooks::AfterBackward(int unit) {
  parts_.next.AfterBackward(unit);
  const int64_t start = parts_.clock.NowNs();
  const Parameters::Range range = parts_.parameters.UnitRange(unit, unit);
  const bool finite = parts_.optimizer.Apply(step_,
                                             {.parameters = parts_.parameters.values(),
                                              .gradients = parts_.network.Gradients(unit),
                                              .state = parts_.optimizer_state,
                                              .gradients_begin = range.begin},
                                             range.begin, range.end, parts_.parallel);
  if (!finite && !bad_unit_) bad_unit_ = unit;
  spent_ns_ += parts_.clock.NowNs() - start;
}

}  // namespace weft::train
