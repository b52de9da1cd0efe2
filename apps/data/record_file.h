// SPDX-License-Identifier: Apache-2.0
// The bytes of one file, read at any place by any thread. A plain file stays on the disk, so a set
// larger than memory can be trained on; one that ends in .gz is unpacked into memory when opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::apps {

class RecordFile {
 public:
  // A refusal names the file.
  static Result<RecordFile> Open(const std::string& path);
  ~RecordFile();
  RecordFile(RecordFile&& other) noexcept;
  RecordFile& operator=(RecordFile&&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }

  // Fills `bytes` from `offset`. Fails where the file ends too early or cannot be read.
  // Thread: any.
  Status Read(int64_t offset, std::span<uint8_t> bytes) const;

 private:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}
  Status OpenPlain();
  Status Unpack();

  std::string path_;
  int64_t size_ = 0;
  int file_ = -1;                  // of a plain file
  std::vector<uint8_t> unpacked_;  // of a packed one
};

}  // namespace weft::apps
