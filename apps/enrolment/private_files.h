// SPDX-License-Identifier: Apache-2.0
// Files and folders that nobody but their owner reads, from the first byte on, whatever the umask.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "apps/files/replace_file.h"
#include "core/status.h"

namespace weft::apps {

// Whose a file is to be.
struct Owner {
  uid_t user;
  gid_t group;
};

// Nullopt if there is no such user, or if we are not root and could give it nothing.
std::optional<Owner> OwnerNamed(const std::string& user);
// Whose `path` is; nullopt if it is not there, or if we are not root.
std::optional<Owner> OwnerOf(const std::string& path);

// Creates what ReplaceFile creates with mode 0600, never opening what is there already, and gives
// it to `owner` before anything is written.
class PrivateCalls final : public FileCalls {
 public:
  explicit PrivateCalls(std::optional<Owner> owner) : owner_(owner) {}
  int Open(const std::string& path, int flags) override;

 private:
  const std::optional<Owner> owner_;
};

// `path` with `content`, as ReplaceFile leaves it: forced to the disk, old or new, never half.
Status WritePrivate(const std::string& path, const std::string& content,
                    std::optional<Owner> owner);

// Makes `path` with `mode`, and its parents, where only we may write. What exists is left as it is.
Status MakeFolder(const std::string& path, mode_t mode, std::optional<Owner> owner);

// Whether every user of this machine can read a file: it, and each folder on the way there.
bool AnyoneMayRead(const std::string& path);

// All of a small file. NotFound if there is none; InvalidInput if it has more than `most_bytes`.
Result<std::string> ReadSmallFile(const std::string& path, size_t most_bytes);

}  // namespace weft::apps
