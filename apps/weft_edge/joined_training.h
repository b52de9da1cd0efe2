// SPDX-License-Identifier: Apache-2.0
// One device training as part of a job: the model, the rounds and the settings are the server's,
// the data are its own.
#pragma once

#include <atomic>

#include "apps/terminal/console.h"
#include "apps/weft_edge/train_flags.h"
#include "core/status.h"

namespace weft::apps {

Status TrainJoined(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop);

}  // namespace weft::apps
