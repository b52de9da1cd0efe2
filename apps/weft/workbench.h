// SPDX-License-Identifier: Apache-2.0
// The workbench `weft` as a function: what was typed in, an exit code out.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "apps/terminal/console.h"

namespace weft::apps {

// `arguments` without the program's name. Errors are one sentence on `err`.
int RunWeft(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
            const Terminal& terminal);

}  // namespace weft::apps
