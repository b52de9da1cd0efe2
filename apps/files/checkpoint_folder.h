// SPDX-License-Identifier: Apache-2.0
// Storage in a folder: for each name two files, <name>.0.checkpoint and <name>.1.checkpoint, of
// which a save replaces the one that is not the newest undamaged. So whatever happens to a save,
// the state before it is not touched. While it saves, a disk holds three states of a name. One
// process at a time has the folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/files/descriptor.h"
#include "apps/files/replace_file.h"
#include "core/status.h"
#include "core/train/storage.h"

namespace weft::apps {

class CheckpointFolder final : public train::Storage {
 public:
  // Creates the folder if it is not there, and clears away what a killed process left unfinished.
  // Unavailable if another process has it open, or the disk does not allow it.
  static Result<std::unique_ptr<CheckpointFolder>> Open(
      const std::string& folder, std::unique_ptr<FileCalls> calls = std::make_unique<FileCalls>());

  // InvalidInput: the name is not one, or a file of a newer weft is in the way; it is kept.
  // Unavailable: the disk is full or broken.
  Status Save(std::string_view name, std::span<const std::span<const std::byte>> parts) override;
  Result<train::StoredState> Load(std::string_view name) override;

 private:
  // The newest undamaged file of a name.
  struct Newest {
    int slot = 0;
    uint64_t generation = 0;
  };
  struct Survey;

  CheckpointFolder(std::string folder, Descriptor lock, std::unique_ptr<FileCalls> calls)
      : folder_(std::move(folder)), lock_(std::move(lock)), calls_(std::move(calls)) {}

  std::string SlotPath(std::string_view name, int slot) const;
  Survey Look(std::string_view name, bool want_content) const;

  std::string folder_;
  Descriptor lock_;
  std::unique_ptr<FileCalls> calls_;
  // Names whose files are known; nullopt: none of them is worth keeping.
  std::map<std::string, std::optional<Newest>, std::less<>> known_;
};

}  // namespace weft::apps
