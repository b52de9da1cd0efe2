// SPDX-License-Identifier: Apache-2.0
// A program that a command starts, here or in a network namespace. It never outlives the command,
// not even one that is killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "net/link/network_namespace.h"

namespace weft::apps {

// Thread: the one that started it, which must live as long.
class Program {
 public:
  struct Spec {
    std::vector<std::string> words;                // the first is looked for on PATH
    const net::NetworkNamespace* place = nullptr;  // nullptr: where we are
    int out = -1;                                  // a descriptor for its stdout; -1: ours
    int err = -1;                                  // for its stderr
  };

  // InvalidInput if there is no such program, or it cannot be run.
  static Result<std::unique_ptr<Program>> Start(const Spec& spec);

  // Ends it with SIGKILL if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  // Readable, for poll, once it has ended.
  int ended_file() const { return ended_file_; }
  void Signal(int number) const;
  // Its exit code, 128 + N for one that signal N ended; nullopt if it still runs after so long.
  std::optional<int> Wait(int64_t timeout_ms);

 private:
  Program(pid_t pid, int ended_file) : pid_(pid), ended_file_(ended_file) {}

  const pid_t pid_;
  const int ended_file_;
  std::optional<int> exit_code_;  // once it is reaped
};

}  // namespace weft::apps
