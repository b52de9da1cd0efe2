// SPDX-License-Identifier: Apache-2.0
// Whether the machine runs as fast as it can: its heat, its power supply, its clock frequencies.
#pragma once

#include <optional>
#include <string>

#include "apps/doctor/examination.h"

namespace weft::apps {

// `root` stands in front of /sys. Nullopt where the machine does not tell.
std::optional<Finding> CheckHeat(const std::string& root);
std::optional<Finding> CheckGovernor(const std::string& root);
// What a Raspberry Pi's firmware says of its supply and its throttling; not checked where its
// kernel, as Debian's, has no way to ask.
std::optional<Finding> CheckThrottling(const std::string& root);

struct MachineMemory {
  int64_t available = 0;  // bytes that could be had now
  int64_t most = 0;       // bytes that could ever be had: the machine's, or this group's limit
};
// `root` stands in front of /proc and /sys.
std::optional<MachineMemory> MemoryOfMachine(const std::string& root);

}  // namespace weft::apps
