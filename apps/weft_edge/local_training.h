// SPDX-License-Identifier: Apache-2.0
// One device training alone: everything from the data set to the saved model, put together.
#pragma once

#include <atomic>
#include <string>

#include "apps/terminal/console.h"
#include "apps/weft_edge/train_flags.h"
#include "core/model/graph.h"
#include "core/status.h"
#include "core/train/dataset.h"

namespace weft::apps {

// Channels and classes are the data's, height and width the model's: images are resized.
Result<model::Graph> BuildLocalModel(const std::string& name, const train::Dataset& set);

Status TrainLocally(const TrainFlags& flags, Console& console, const std::atomic<bool>& stop);

}  // namespace weft::apps
