// SPDX-License-Identifier: Apache-2.0
// What the doctors of device and server have in common on the command line. A configuration file
// that cannot be read is for them a finding, not a mistake in what was typed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/doctor/service_unit.h"
#include "apps/doctor/service_view.h"
#include "core/status.h"

namespace CLI {
class App;
}

namespace weft::apps {

struct DoctorArguments {
  bool asked = false;                   // what was typed is for the doctor
  std::string file = {};                // the configuration that was read; empty: none
  Status problem = {};                  // why it cannot be used
  std::vector<std::string> flags = {};  // what was typed and what the file has, if it can be used
  std::optional<ServiceUnit> service = {};  // whose file that is; nullopt: it is not a service's
};

// What a package installs.
struct InstalledService {
  std::string file;       // its configuration
  std::string unit;       // "weft-edge.service"
  std::string root = {};  // in front of the unit's
};

// `arguments` without the program's name. Without --config and any flag about the job, the
// installed service's file is meant, if there is one.
DoctorArguments ReadDoctorArguments(const std::vector<std::string>& arguments,
                                    const InstalledService& installed);

// What `look` finds, and that the service may read the file: where it may not, systemd skips it,
// and reports no failure.
Finding CheckConfiguration(const ServiceView& service, const DoctorArguments& config,
                           const std::function<Finding()>& look);

struct DoctorFlags {
  double timeout_s = 5;
  bool json = false;
};
void AddDoctorFlags(CLI::App& command, DoctorFlags& flags);

}  // namespace weft::apps
