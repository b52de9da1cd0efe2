// SPDX-License-Identifier: Apache-2.0
// What the installed unit of a service says of where it runs: as whom, and behind which walls.
// Read from the files that systemd reads, so what an administrator changed counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::apps {

struct ServiceUnit {
  std::string name = {};  // "weft-edge.service"
  std::string user = {};  // empty: root
  std::string working_folder = {};
  std::vector<std::string> made = {};      // by systemd, for this user, which may write there
  std::vector<std::string> writable = {};  // besides
  std::vector<std::string> shown = {};     // although a wall would hide it
  bool home_hidden = false;
  bool own_tmp = false;    // which nobody else sees, and which goes with the service
  bool read_only = false;  // all but the folders above
  int memory_percent = 0;  // of the machine's that it may take; 0: no limit of that kind
};

// With the drop-ins of the administrator and others. `root` stands in front of /etc, /run and /lib.
// Nullopt: there is no such unit.
std::optional<ServiceUnit> InstalledUnit(const std::string& name, const std::string& root);

}  // namespace weft::apps
