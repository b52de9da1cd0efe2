// SPDX-License-Identifier: Apache-2.0
// safetensors files: named tensors in the plain layout, as PyTorch's users exchange them. Reading
// takes one tensor at a time, so that a large file does not need as much memory again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/files/file_reader.h"
#include "apps/files/replace_file.h"
#include "apps/files/safetensors_header.h"
#include "core/shape.h"
#include "core/status.h"

namespace weft::apps {

// A file whose header has been read and found in order. Thread: any.
class SafetensorsFile {
 public:
  // NotFound, Unavailable, or InvalidInput with a sentence that names the file and, where it is
  // about one, the tensor.
  static Result<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::span<const SafetensorsEntry> entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const SafetensorsEntry* Find(std::string_view name) const;  // null: there is none

  // Fills `values`, which has as many elements as the entry. F32 is copied; F16, BF16 and F64 are
  // converted. InvalidInput for other dtypes.
  Status Read(const SafetensorsEntry& entry, std::span<float> values) const;
  // I64 only.
  Status Read(const SafetensorsEntry& entry, std::span<int64_t> values) const;

 private:
  SafetensorsFile(FileReader file, SafetensorsHeader header, uint64_t data_begin);

  FileReader file_;
  SafetensorsHeader header_;
  uint64_t data_begin_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

struct TensorToWrite {
  std::string name;
  Shape shape;
  std::variant<std::span<const float>, std::span<const int64_t>> values;  // F32 or I64
};

// Replaces `path` by a file with these tensors; their names must differ. The header lists them in
// the order given. Unavailable says what failed; `path` is then as it was.
Status WriteSafetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                        const std::map<std::string, std::string>& metadata, FileCalls& calls);

}  // namespace weft::apps
