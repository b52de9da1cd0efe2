// SPDX-License-Identifier: Apache-2.0
// `weft-edge board`: what this machine is, what of it will be used, and what can be trained on it.
#pragma once

#include <atomic>

#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddBoardCommand(CLI::App& app, const std::atomic<bool>& stop);

}  // namespace weft::apps
