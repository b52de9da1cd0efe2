// SPDX-License-Identifier: Apache-2.0
// `weft-edge doctor`: proves every link of what `weft-edge train` with the same flags would need.
#pragma once

#include "apps/doctor/doctor_flags.h"
#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddDoctorCommand(CLI::App& app, const DoctorArguments& config);

}  // namespace weft::apps
