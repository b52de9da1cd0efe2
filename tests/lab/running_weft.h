// SPDX-License-Identifier: Apache-2.0
// The workbench as a program of its own, started by a test, with all that it starts itself.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/lab/listened_program.h"
#include "tests/places.h"

namespace weft::apps {

// A process that is somebody else's child, which can still be waited for.
class ForeignProcess {
 public:
  explicit ForeignProcess(pid_t pid);
  ~ForeignProcess();
  ForeignProcess(ForeignProcess&& other) noexcept;
  ForeignProcess& operator=(ForeignProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // Its words, with blanks between and behind them.
  const std::string& command() const { return command_; }
  // Whether it ends within a minute.
  bool Ends() const;

 private:
  pid_t pid_;
  int ended_file_;
  std::string command_;
};

class RunningWeft {
 public:
  // Aborts if it cannot be started.
  explicit RunningWeft(const std::vector<std::string>& arguments,
                       const std::string& program = tests::Workbench());

  // The next line on stdout; nullopt at its end, or after a minute without any.
  std::optional<std::string> NextLine();
  // Reads on to the end. -1 if it takes more than a minute without a word.
  int ExitCode();
  // All of stderr so far.
  const std::string& err() const { return err_; }
  void Signal(int number) const { program_->Signal(number); }

  // What it has started and still runs.
  std::vector<ForeignProcess> Children() const;
  // The one whose words have these among them. Aborts if there is none.
  ForeignProcess Child(const std::string& words) const;
  // Where it keeps its files; empty before the broker runs.
  std::string ScratchPath() const;

 private:
  std::unique_ptr<ListenedProgram> program_;
  std::vector<std::string> lines_;
  std::string err_;
};

}  // namespace weft::apps
