// SPDX-License-Identifier: Apache-2.0
// Where a command speaks: results to `out`, everything else to `err`, and what the terminal can
// show. Commands get it from main and open no stream of their own.
#pragma once

#include <iosfwd>

#include "core/log.h"

namespace weft::apps {

struct Terminal {
  int columns = 100;
  bool colour = false;
  bool live = false;  // somebody is watching: a line may be drawn over
};

// The terminal of this process: its width, and whether it shows colours.
Terminal ThisTerminal();

struct Console {
  std::ostream& out;
  std::ostream& err;
  Terminal terminal;
  Logger log;
  // What a command that succeeds ends with: not 0 only if it ran a program that did.
  int exit_code = 0;
};

// A program's exit codes.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;   // the world let us down: disk, tool, network
inline constexpr int kExitBadInput = 2;  // what was typed or given cannot be used

}  // namespace weft::apps
