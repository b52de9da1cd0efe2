// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/companions.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

std::string FindIn(const std::string& search_path, const std::string& name) {
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(name);
    if (access(folder.c_str(), X_OK) == 0) return folder;
  }
  return "";
}

// "build/release/bin/weft" for somebody in the repository, the whole path for everybody else.
std::string AsTyped(const fs::path& program) {
  std::error_code ignored;
  const fs::path relative = fs::proximate(program, ignored);
  const bool below = !relative.empty() && *relative.begin() != "..";
  return (below ? relative : program).string();
}

}  // namespace

std::string Companions::SearchPath() {
  const char* path = std::getenv("PATH");
  return std::string(path == nullptr ? "" : path) + ":/usr/sbin";
}

Result<Companions> Companions::Find(const std::string& search_path) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return Status::Unavailable("cannot find out where this program is; is /proc there?");
  Companions found{.weft = AsTyped(self),
                   .server = (self.parent_path() / "weft-ps").string(),
                   .edge = (self.parent_path() / "weft-edge").string(),
                   .broker = FindIn(search_path, "mosquitto")};
  for (const std::string& program : {found.server, found.edge}) {
    if (access(program.c_str(), X_OK) == 0) continue;
    return Status::NotFound("there is no '" + program + "'; ./dev build makes it");
  }
  if (found.broker.empty()) {
    return Status::NotFound(
        "mosquitto, the broker, is not installed; apt-get install mosquitto, or run ./dev demo");
  }
  return found;
}

}  // namespace weft::apps
