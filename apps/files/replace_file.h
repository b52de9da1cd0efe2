// SPDX-License-Identifier: Apache-2.0
// Replaces a file as a whole: neither a reader, nor a crash, nor a power cut ever meets half of the
// new one. It is written beside its final place, forced to the disk, renamed over the old one, and
// the folder's entry is forced to the disk too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"

namespace weft::apps {

// The system calls that keeping a file is made of, so that a test can fail and stop it at each of
// them. Answers are those of the calls themselves: below 0, errno says why.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int Open(const std::string& path, int flags);
  virtual ssize_t Write(int fd, std::span<const std::byte> bytes);
  virtual int Sync(int fd);
  virtual int SyncData(int fd);  // the content and its length, not the times
  virtual int Truncate(int fd, uint64_t bytes);
  virtual int Rename(const std::string& from, const std::string& to);
  virtual int Remove(const std::string& path);
};

// How the names of unfinished files end. One is left behind if the process is killed.
inline constexpr std::string_view kUnfinishedSuffix = ".unfinished";

// The bytes of `parts`, one after the other, become the content of `path`. Unavailable says what
// failed and what is at `path` now; it is always the old file or the new one, whole.
Status ReplaceFile(const std::string& path, std::span<const std::span<const std::byte>> parts,
                   FileCalls& calls);

// What would keep a file from being written to `path` and can be known now: that it is a folder, or
// that the folder for it is not there or not ours to write in. A run that takes days asks before it
// begins.
Status CheckPlace(const std::string& path);

// Writes all of `bytes` where `fd` stands. 0, or the errno of the call that failed.
int WriteFully(int fd, std::span<const std::byte> bytes, FileCalls& calls);

// Forces a folder's entries to the disk. 0, or an errno.
int SyncFolder(const std::string& folder, FileCalls& calls);

}  // namespace weft::apps
