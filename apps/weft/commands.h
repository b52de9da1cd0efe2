// SPDX-License-Identifier: Apache-2.0
// The workbench's commands. Each Add… declares a subcommand and its flags on `app` and returns
// what runs it after parsing.
#pragma once

#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddModelCommand(CLI::App& app);
Command AddPlanCommand(CLI::App& app);
Command AddSimCommand(CLI::App& app);
Command AddBenchCommand(CLI::App& app);
Command AddLinkCommand(CLI::App& app);
Command AddDemoCommand(CLI::App& app);
Command AddLabCommand(CLI::App& app);
Command AddClusterCommand(CLI::App& app);

}  // namespace weft::apps
