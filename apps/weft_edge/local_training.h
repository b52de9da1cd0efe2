// SPDX-License-Identifier: Apache-2.0
// One device training alone: everything from the data set to the saved model, put together.
#pragma once

#include <atomic>

#include "apps/terminal/console.h"
#include "apps/weft_edge/train_flags.h"
#include "core/status.h"

namespace weft::apps {

Status TrainLocally(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop);

}  // namespace weft::apps
