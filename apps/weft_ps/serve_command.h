// SPDX-License-Identifier: Apache-2.0
// `weft-ps serve`: reads what was typed.
#pragma once

#include <atomic>

#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddServeCommand(CLI::App& app, const std::atomic<bool>& stop);

}  // namespace weft::apps
