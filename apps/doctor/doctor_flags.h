// SPDX-License-Identifier: Apache-2.0
// What the doctors of device and server have in common on the command line. A configuration file
// that cannot be read is for them a finding, not a mistake in what was typed.
#pragma once

#include <string>
#include <vector>

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
};

// `arguments` without the program's name. Without --config and any flag about the job, the
// installed service's file is meant, if there is one.
DoctorArguments ReadDoctorArguments(const std::vector<std::string>& arguments,
                                    const std::string& installed_file);

struct DoctorFlags {
  double timeout_s = 5;
  bool json = false;
};
void AddDoctorFlags(CLI::App& command, DoctorFlags& flags);

}  // namespace weft::apps
