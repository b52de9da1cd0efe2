// SPDX-License-Identifier: Apache-2.0
// `weft-ps status`: asks a running server on this machine how it stands.
#pragma once

#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddStatusCommand(CLI::App& app);

}  // namespace weft::apps
