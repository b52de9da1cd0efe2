// SPDX-License-Identifier: Apache-2.0
// A folder for one test, gone with it, and whole files as strings.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace weft::apps {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void WriteAll(const std::string& path, const std::string& content) {
  std::filesystem::remove(path);  // ext4 forces a file that is overwritten to the disk, slowly
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Strings as the parts of a file. They must stay where they are meanwhile.
inline std::vector<std::span<const std::byte>> AsParts(const std::vector<std::string>& strings) {
  std::vector<std::span<const std::byte>> parts;
  for (const std::string& string : strings) parts.push_back(std::as_bytes(std::span(string)));
  return parts;
}

}  // namespace weft::apps
