// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/edge.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "apps/terminal/command_line.h"
#include "apps/terminal/config_file.h"
#include "apps/weft_edge/board_command.h"
#include "apps/weft_edge/enrol_command.h"
#include "apps/weft_edge/train_command.h"

namespace weft::apps {

int RunEdge(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
            const Terminal& terminal, const std::atomic<bool>& stop) {
  Result<std::vector<std::string>> all = WithConfigFile(arguments);
  if (!all.ok()) {
    err << "weft-edge: " << all.status().message() << "\n";
    return kExitBadInput;
  }
  CLI::App app("weft-edge, the trainer on the device", "weft-edge");
  const std::vector<Command> commands = {AddTrainCommand(app, stop), AddBoardCommand(app, stop),
                                         AddEnrolCommand(app)};
  return RunCommandLine(app, commands, *all, out, err, terminal);
}

}  // namespace weft::apps
