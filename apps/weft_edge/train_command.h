// SPDX-License-Identifier: Apache-2.0
// `weft-edge train`: the flags, in words people type.
#pragma once

#include <atomic>

#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddTrainCommand(CLI::App& app, const std::atomic<bool>& stop);

}  // namespace weft::apps
