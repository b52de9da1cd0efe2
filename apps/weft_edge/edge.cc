// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/edge.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "apps/terminal/command_line.h"
#include "apps/terminal/config_file.h"
#include "apps/weft_edge/board_command.h"
#include "apps/weft_edge/doctor_command.h"
#include "apps/weft_edge/enrol_command.h"
#include "apps/weft_edge/train_command.h"

namespace weft::apps {

int RunEdge(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
            const Terminal& terminal, const std::atomic<bool>& stop) {
#ifdef WEFT_HAS_DOCTOR
  const DoctorArguments for_doctor =
      ReadDoctorArguments(arguments, {.file = "/etc/weft/edge.toml", .unit = "weft-edge.service"});
  const Result<std::vector<std::string>> all =
      for_doctor.asked ? for_doctor.flags : WithConfigFile(arguments);
#else
  const Result<std::vector<std::string>> all = WithConfigFile(arguments);
#endif
  if (!all.ok()) {
    err << "weft-edge: " << all.status().message() << "\n";
    return kExitBadInput;
  }
  CLI::App app("weft-edge, the trainer on the device", "weft-edge");
  std::vector<Command> commands = {AddTrainCommand(app, stop), AddBoardCommand(app, stop),
                                   AddEnrolCommand(app)};
#ifdef WEFT_HAS_DOCTOR
  commands.push_back(AddDoctorCommand(app, for_doctor));
#endif
  return RunCommandLine(app, commands, *all, out, err, terminal);
}

}  // namespace weft::apps
