// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/link_script_file.h"

#include <cstddef>
#include <fstream>

namespace weft::apps {

Result<std::vector<net::LinkChange>> ReadLinkScript(const std::string& path) {
  if (path.empty()) return std::vector<net::LinkChange>{};
  constexpr size_t kMostBytes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof())) {
    return Status::NotFound("the script " + path + " cannot be read");
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMostBytes) {
    return Status::InvalidInput("the script " + path + " is longer than 1 MiB");
  }
  Result<std::vector<net::LinkChange>> changes = net::ParseLinkScript(text);
  if (!changes.ok()) return changes.status().WithContext(path);
  return changes;
}

}  // namespace weft::apps
