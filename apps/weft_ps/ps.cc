// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/ps.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "apps/terminal/command_line.h"
#include "apps/terminal/config_file.h"
#include "apps/weft_ps/doctor_command.h"
#include "apps/weft_ps/serve_command.h"
#include "apps/weft_ps/status_command.h"

namespace weft::apps {

int RunPs(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
          const Terminal& terminal, const std::atomic<bool>& stop) {
  const DoctorArguments for_doctor =
      ReadDoctorArguments(arguments, {.file = "/etc/weft/ps.toml", .unit = "weft-ps.service"});
  const Result<std::vector<std::string>> all =
      for_doctor.asked ? for_doctor.flags : WithConfigFile(arguments);
  if (!all.ok()) {
    err << "weft-ps: " << all.status().message() << "\n";
    return kExitBadInput;
  }
  CLI::App app("weft-ps, the parameter server", "weft-ps");
  const std::vector<Command> commands = {AddServeCommand(app, stop), AddStatusCommand(app),
                                         AddServerDoctorCommand(app, for_doctor)};
  return RunCommandLine(app, commands, *all, out, err, terminal);
}

}  // namespace weft::apps
