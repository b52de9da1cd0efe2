// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/workbench.h"

#include <CLI/CLI.hpp>

#include "apps/weft/commands.h"

namespace weft::apps {

int RunWeft(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
            const Terminal& terminal) {
  CLI::App app(
      "weft, the workbench: models, communication plans, simulations, benchmarks, clusters",
      "weft");
  const std::vector<Command> commands = {
      AddModelCommand(app), AddPlanCommand(app), AddSimCommand(app), AddBenchCommand(app),
      AddLinkCommand(app),  AddDemoCommand(app), AddLabCommand(app), AddClusterCommand(app)};
  return RunCommandLine(app, commands, arguments, out, err, terminal);
}

}  // namespace weft::apps
