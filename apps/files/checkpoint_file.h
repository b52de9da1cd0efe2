// SPDX-License-Identifier: Apache-2.0
// One saved state as a file. All numbers are little-endian:
//
//   8 bytes   "weftkept"
//   4 + 4     format version, and its complement
//   8         generation
//   8         n, the number of parts
//   8         bytes of all parts together
//   8 * n     bytes of each part
//   ...       the parts
//   32        SHA-256 of everything before
//
// The first 16 bytes are the same in every version, so that an old weft can tell a newer file from
// a damaged one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/files/file_reader.h"
#include "apps/files/replace_file.h"
#include "core/status.h"
#include "core/train/storage.h"

namespace weft::apps {

Status WriteCheckpointFile(const std::string& path, uint64_t generation,
                           std::span<const std::span<const std::byte>> parts, FileCalls& calls);

class CheckpointFile {
 public:
  enum class State {
    kAbsent,
    kUnreadable,   // the system did not let us look
    kDamaged,      // cut off, changed, or never one of ours
    kNewerFormat,  // of a later weft
    kPlausible,    // everything but the checksum fits
  };

  // Looks at the sizes only; the content is read by Verify and Read.
  static CheckpointFile Open(const std::string& path);

  State state() const { return state_; }
  const std::string& sentence() const { return sentence_; }  // why it is not plausible
  uint64_t generation() const { return generation_; }        // of a plausible file

  // The following are for plausible files. InvalidInput: the checksum does not fit. Unavailable:
  // the disk or the memory does not allow it.
  Status Verify() const;
  Result<train::StoredState> Read() const;

 private:
  CheckpointFile(State state, std::string sentence)
      : state_(state), sentence_(std::move(sentence)) {}

  Status ReadPayload(std::byte* payload) const;

  State state_;
  std::string sentence_;
  std::optional<FileReader> file_;
  uint64_t generation_ = 0;
  std::vector<std::byte> front_;  // everything before the parts
  std::vector<uint64_t> part_bytes_;
  uint64_t payload_bytes_ = 0;
};

}  // namespace weft::apps
