// SPDX-License-Identifier: Apache-2.0
// `weft-edge enrol`: makes this machine the device that a bundle of `weft cluster add` is for.
#pragma once

#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddEnrolCommand(CLI::App& app);

}  // namespace weft::apps
