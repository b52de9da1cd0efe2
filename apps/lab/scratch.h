// SPDX-License-Identifier: Apache-2.0
// A private folder for as long as a command runs. It goes with the command even if that is killed:
// a shell outside waits for the last of the programs that were started here, and cleans up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"

namespace weft::apps {

class Scratch {
 public:
  // In memory (/dev/shm) if that has room for so many bytes, else under $TMPDIR or /tmp.
  // Unavailable if neither can be written.
  static Result<std::unique_ptr<Scratch>> Create(int64_t bytes);
  // The programs that use it must have ended.
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Unavailable if the file cannot be written. Folders on the way to it are made.
  Status Write(const std::string& name, const std::string& text) const;
  void Remove(const std::string& name) const;

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  Status StartCaretaker();

  const std::string path_;
  pid_t caretaker_ = -1;
  int life_ = -1;  // open, here and in every program started since, until they are gone
};

}  // namespace weft::apps
