// SPDX-License-Identifier: Apache-2.0
// A program that a command starts and listens to: its stdout line by line, and the last of what it
// said on stderr, for the day it fails.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weft/program.h"
#include "core/status.h"

namespace weft::apps {

// Thread: the one that started it.
class ListenedProgram {
 public:
  // Fails as Program::Start does. It gets no other of our descriptors but what is inherited anyway.
  static Result<std::unique_ptr<ListenedProgram>> Start(const std::vector<std::string>& words,
                                                        const net::NetworkNamespace* place);
  // Ends it with SIGKILL if it still runs.
  ~ListenedProgram();
  ListenedProgram(const ListenedProgram&) = delete;
  ListenedProgram& operator=(const ListenedProgram&) = delete;

  // Readable, for poll, when there is something to Read, or it has ended. -1 for what is over.
  std::vector<int> Files() const;
  // Takes what is there, without waiting.
  void Read();
  // Whole lines since the last call, without their ends.
  std::vector<std::string> TakeOut() { return Take(out_); }
  std::vector<std::string> TakeErr() { return Take(err_); }
  // The last line that it said on stderr, or nothing.
  const std::string& last_said() const { return last_said_; }

  pid_t pid() const { return program_->pid(); }
  // 128 + N for one that signal N ended; nullopt: it runs.
  std::optional<int> exit_code() { return program_->Wait(0); }
  void Signal(int number) const { program_->Signal(number); }

  // Asks all of them to end, and those that still run after `grace_ms` no longer.
  static void EndAll(const std::vector<ListenedProgram*>& programs, int64_t grace_ms);

 private:
  struct Stream {
    int file = -1;
    std::string half;  // what came after the last line's end
    std::vector<std::string> lines;
  };

  ListenedProgram() = default;
  static std::vector<std::string> Take(Stream& stream);
  static void ReadFrom(Stream& stream);

  std::unique_ptr<Program> program_;
  Stream out_;
  Stream err_;
  std::string last_said_;
};

}  // namespace weft::apps
