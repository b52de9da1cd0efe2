// SPDX-License-Identifier: Apache-2.0
// The workbench's commands. Each Add… declares a subcommand and its flags on `app` and returns
// what runs it after parsing; `console` must outlive the call.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "apps/weft/console.h"
#include "core/status.h"

namespace weft::apps {

struct Command {
  CLI::App* parsed = nullptr;  // asks whether this command was typed
  std::function<Status(Console&)> run;
};

Command AddModelCommand(CLI::App& app);
Command AddPlanCommand(CLI::App& app);
Command AddSimCommand(CLI::App& app);
Command AddBenchCommand(CLI::App& app);

// A finite number above 0 and at most `most`; CLI11's own checks let nan and inf pass.
CLI::Validator PositiveUpTo(double most);
// As PositiveUpTo, with 0 allowed.
CLI::Validator FromZeroUpTo(double most);

}  // namespace weft::apps
