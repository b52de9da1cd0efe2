// SPDX-License-Identifier: Apache-2.0
#include "boards/cgroup_limit.h"

#include <filesystem>
#include <fstream>

namespace weft::boards {
namespace {

// What version 1 writes where there is no limit is a number near the largest one.
constexpr int64_t kNoLimit = int64_t{1} << 60;

void TakeLimit(const std::filesystem::path& file, int64_t& least) {
  std::ifstream stream(file);
  int64_t bytes = 0;
  // "max" is no number.
  if (!(stream >> bytes) || bytes <= 0 || bytes >= kNoLimit) return;
  if (least == 0 || bytes < least) least = bytes;
}

// From `group`, a path as /proc/self/cgroup writes it, up to the top. In a container the upper part
// of that path may not be there to be seen; what is there counts.
void TakeLimits(const std::filesystem::path& mount, std::filesystem::path group,
                std::initializer_list<const char*> files, int64_t& least) {
  while (true) {
    for (const char* file : files) TakeLimit(mount / group.relative_path() / file, least);
    if (group.relative_path().empty()) return;
    group = group.parent_path();
  }
}

}  // namespace

int64_t CgroupMemoryLimit(const std::string& root) {
  const std::filesystem::path mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  int64_t least = 0;
  // "4:memory:/user" in version 1, "0::/user" in version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      for (const char* mount : {"", "unified"}) {
        TakeLimits(mounts / mount, group, {"memory.max", "memory.high"}, least);
      }
    } else if (controllers.find(",memory,") != std::string::npos) {
      TakeLimits(mounts / "memory", group, {"memory.limit_in_bytes"}, least);
    }
  }
  return least;
}

}  // namespace weft::boards
