// SPDX-License-Identifier: Apache-2.0
// The parameter server as a function: arguments in, exit code out.
#pragma once

#include <atomic>
#include <iosfwd>
#include <string>
#include <vector>

#include "apps/terminal/console.h"

namespace weft::apps {

// `arguments` without the program's name. Ends soon after `stop` is set.
int RunPs(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
          const Terminal& terminal, const std::atomic<bool>& stop);

}  // namespace weft::apps
