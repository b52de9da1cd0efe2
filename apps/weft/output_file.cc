// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/output_file.h"

#include <filesystem>
#include <fstream>

namespace weft::apps {

// By trying: root may do what a file system that is read-only does not let it do.
Status CheckWritable(const std::string& path) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::app)) {
    return Status::Unavailable("cannot write '" + path + "'; is the folder there and writable?");
  }
  if (!was_there) std::filesystem::remove(path, ignored);
  return Status::Ok();
}

}  // namespace weft::apps
