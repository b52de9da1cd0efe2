// SPDX-License-Identifier: Apache-2.0
// Runs the workbench as if its arguments had been typed, and keeps what it says.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "apps/weft/workbench.h"

namespace weft::apps {

struct Typed {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline Typed Type(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = RunWeft(arguments, out, err, {.columns = 80, .colour = false});
  return {exit_code, out.str(), err.str()};
}

// A mistake is answered with exit code 2, one line on stderr, and nothing on stdout.
inline bool IsOneLineRefusal(const Typed& typed) {
  return typed.exit_code == kExitBadInput && typed.out.empty() && typed.err.ends_with("\n") &&
         typed.err.find('\n') == typed.err.size() - 1;
}

}  // namespace weft::apps
