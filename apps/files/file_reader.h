// SPDX-License-Identifier: Apache-2.0
// Reads pieces of a regular file at any place, without holding the whole of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "apps/files/descriptor.h"
#include "core/status.h"

namespace weft::apps {

// Thread: any.
class FileReader {
 public:
  // NotFound if there is no such file; Unavailable if it cannot be opened or is no file. Both name
  // the path.
  static Result<FileReader> Open(const std::string& path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // when it was opened

  // Fills `out` with the bytes from `offset` on, which must be within size(). Unavailable if the
  // disk fails, or if somebody has made the file shorter meanwhile.
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const;

 private:
  FileReader(std::string path, Descriptor file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  std::string path_;
  Descriptor file_;
  uint64_t size_;
};

}  // namespace weft::apps
