// SPDX-License-Identifier: Apache-2.0
// `weft-ps doctor`: proves every link of what `weft-ps serve` with the same flags would need.
#pragma once

#include "apps/doctor/doctor_flags.h"
#include "apps/terminal/command_line.h"

namespace weft::apps {

Command AddServerDoctorCommand(CLI::App& app, const DoctorArguments& config);

}  // namespace weft::apps
