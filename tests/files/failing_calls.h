// SPDX-License-Identifier: Apache-2.0
// Disks that let a test down: one call that fails, and a power cut between two calls that takes
// everything along that was not forced to the disk.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/files/replace_file.h"
#include "tests/files/scratch_folder.h"

namespace weft::apps {

// The call with number `failing`, counted from 0, fails with `error`.
class OneFailingCall final : public FileCalls {
 public:
  OneFailingCall(int failing, int error) : left_(failing), error_(error) {}

  bool failed() const { return left_ < 0; }

  int Open(const std::string& path, int flags) override {
    return Fails() ? -1 : FileCalls::Open(path, flags);
  }
  ssize_t Write(int fd, std::span<const std::byte> bytes) override {
    return Fails() ? -1 : FileCalls::Write(fd, bytes);
  }
  int Sync(int fd) override { return Fails() ? -1 : FileCalls::Sync(fd); }
  int SyncData(int fd) override { return Fails() ? -1 : FileCalls::SyncData(fd); }
  int Truncate(int fd, uint64_t bytes) override {
    return Fails() ? -1 : FileCalls::Truncate(fd, bytes);
  }
  int Rename(const std::string& from, const std::string& to) override {
    return Fails() ? -1 : FileCalls::Rename(from, to);
  }
  int Remove(const std::string& path) override { return Fails() ? -1 : FileCalls::Remove(path); }

 private:
  bool Fails() {
    if (left_-- != 0) return false;
    errno = error_;
    return true;
  }

  int left_;
  int error_;
};

struct PowerCut {};

// Throws PowerCut instead of making the call with number `cut`. LoseUnsynced then does to the
// files what the cut may have done.
class CutPower final : public FileCalls {
 public:
  explicit CutPower(int cut) : left_(cut) {}

  int Open(const std::string& path, int flags) override {
    Tick();
    const int fd = FileCalls::Open(path, flags);
    opened_[fd] = path;
    if ((flags & O_CREAT) != 0) unsynced_files_.insert(path);
    return fd;
  }
  ssize_t Write(int fd, std::span<const std::byte> bytes) override {
    Tick();
    return FileCalls::Write(fd, bytes);
  }
  int Sync(int fd) override {
    Tick();
    const std::string& path = opened_.at(fd);
    unsynced_files_.erase(path);
    if (std::filesystem::is_directory(path)) renames_.clear();
    return FileCalls::Sync(fd);
  }
  int Rename(const std::string& from, const std::string& to) override {
    Tick();
    const bool replaces = std::filesystem::exists(to);
    renames_.push_back({from, to, replaces, replaces ? ReadAll(to) : ""});
    if (unsynced_files_.erase(from) > 0) unsynced_files_.insert(to);
    return FileCalls::Rename(from, to);
  }

  // Files that were not synced lose their second half; renames that were not are undone, or not.
  void LoseUnsynced(bool undo_renames) {
    for (const std::string& path : unsynced_files_) {
      if (std::filesystem::exists(path)) {
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
      }
    }
    if (!undo_renames) return;
    for (auto rename = renames_.rbegin(); rename != renames_.rend(); ++rename) {
      std::filesystem::rename(rename->to, rename->from);
      if (rename->replaced) WriteAll(rename->to, rename->old_content);
    }
  }

 private:
  struct Renamed {
    std::string from;
    std::string to;
    bool replaced;
    std::string old_content;
  };

  void Tick() {
    if (left_-- == 0) throw PowerCut();
  }

  int left_;
  std::map<int, std::string> opened_;
  std::set<std::string> unsynced_files_;
  std::vector<Renamed> renames_;  // since their folder was last synced
};

// Writes a byte at a time, and is interrupted before each.
class HaltingCalls final : public FileCalls {
 public:
  ssize_t Write(int fd, std::span<const std::byte> bytes) override {
    interrupted_ = !interrupted_;
    if (!interrupted_) return FileCalls::Write(fd, bytes.first(1));
    errno = EINTR;
    return -1;
  }

 private:
  bool interrupted_ = false;
};

}  // namespace weft::apps
