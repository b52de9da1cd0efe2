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
  // What is left on this machine.
  struct Room {
    int64_t memory_bytes = 0;  // of memory, which control groups may limit
    int64_t shared_bytes = 0;  // in /dev/shm; 0 if it cannot be written
    std::string folder = {};   // $TMPDIR or /tmp
    int64_t folder_bytes = 0;  // there
  };
  static Room RoomHere();
  // Whether so many bytes of files go into memory, where programs will take `beside` of it: if they
  // are a quarter of it at most.
  static bool InMemory(const Room& room, int64_t bytes, int64_t beside);

  // In memory (/dev/shm) if so many bytes go there, else under $TMPDIR or /tmp. Unavailable if
  // neither can be written.
  static Result<std::unique_ptr<Scratch>> Create(int64_t bytes, int64_t beside = 0);
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
