// SPDX-License-Identifier: Apache-2.0
// Tries how fast the models that fit train here, until a given time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "apps/weft_edge/board_report.h"
#include "core/clock.h"
#include "core/status.h"

namespace weft::apps {

// A model that was made to be trained in batches of one size.
class SpeedTrial {
 public:
  virtual ~SpeedTrial() = default;
  virtual Status Step() = 0;
};
using MakeTrial =
    std::function<Result<std::unique_ptr<SpeedTrial>>(const std::string& model, int batch)>;

// Trials on this board. Kernels are each backend's first guess: timing them all takes longer than a
// measurement may. `board` and `clock` must outlive what it returns, and the trials.
MakeTrial TrialsOn(const Board& board, const Clock& clock);

// Sets the speed of those models of `report` that there is time for, those with the least work
// first, or why there is none; where a batch of the model's own size would take too long, with a
// smaller one. No step is begun that is not expected to be done by `end_ns`: the first of a model
// is judged by the model before it and may take six times as long as that says, later ones by the
// first. Ends after the step that is under way when `stop` becomes true.
void MeasureSpeeds(BoardReport& report, int64_t end_ns, const Clock& clock,
                   const std::atomic<bool>& stop, const MakeTrial& make);

}  // namespace weft::apps
