// SPDX-License-Identifier: Apache-2.0
// The device program `weft-edge` as a function: what was typed in, an exit code out.
#pragma once

#include <atomic>
#include <iosfwd>
#include <string>
#include <vector>

#include "apps/terminal/console.h"

namespace weft::apps {

// `arguments` without the program's name. When `stop` becomes true, training ends after the step
// it is in, as if that had been the last, and saves what it was told to save.
int RunEdge(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
            const Terminal& terminal, const std::atomic<bool>& stop);

}  // namespace weft::apps
