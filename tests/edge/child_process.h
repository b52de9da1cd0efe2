// SPDX-License-Identifier: Apache-2.0
// A program started by a test, whose stdout the test reads line by line. It never outlives the
// test: not one that fails, nor one that is killed itself.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::apps {

// weft-edge and weft-ps, the programs, with these arguments; with the emulator in front where one
// is needed.
std::vector<std::string> EdgeCommand(const std::vector<std::string>& arguments);
std::vector<std::string> PsCommand(const std::vector<std::string>& arguments);

class ChildProcess {
 public:
  // Its stderr is the test's own. Aborts if the system cannot start anything.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line without its end; nullopt at the end of the output, or after so long without any.
  std::optional<std::string> NextLine(int patience_s = 120);

  // kill -9, now. Whether that is what it died of. What it said before can still be read.
  bool Kill();
  // Its exit code once it ends by itself, or -1.
  int Wait();

 private:
  int Reap();

  pid_t pid_ = -1;  // -1: it is gone
  int out_ = -1;
  std::string read_;  // what came after the last line
};

}  // namespace weft::apps
