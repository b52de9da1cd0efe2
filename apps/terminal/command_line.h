// SPDX-License-Identifier: Apache-2.0
// What weft's programs share in reading what was typed: subcommands, checks of numbers, and one
// way to answer a mistake.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "apps/terminal/console.h"
#include "core/status.h"

// A heavy library: only the files that define flags include it.
namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace weft::apps {

struct Command {
  CLI::App* parsed = nullptr;  // asks whether this command was typed
  std::function<Status(Console&)> run;
};

// Parses `arguments`, given without the program's name, and runs the command that was typed, or
// shows the help where none was. A mistake is one sentence on `err`. Returns the exit code.
int RunCommandLine(CLI::App& app, const std::vector<Command>& commands,
                   const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
                   const Terminal& terminal);

// A finite number above 0 and at most `most`; CLI11's own checks let nan and inf pass.
CLI::Validator PositiveUpTo(double most);
// As PositiveUpTo, with 0 allowed.
CLI::Validator FromZeroUpTo(double most);

}  // namespace weft::apps
