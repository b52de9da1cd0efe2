// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its relatives as something to wait for, so that a command can put things back before
// it ends.
#pragma once

#include <signal.h>

#include <optional>

namespace weft::apps {

// While one lives, SIGINT, SIGTERM and SIGHUP only make its file readable, and SIGPIPE is not
// delivered. Thread: the one that made it; threads that it starts from now on are spared, too.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int file() const { return file_; }

  struct Stop {
    int number = 0;
    bool typed = false;  // at the terminal, so that every program in the foreground got it
  };
  // The next one; nullopt if there is none.
  std::optional<Stop> Take() const;

 private:
  sigset_t before_;
  int file_ = -1;
};

}  // namespace weft::apps
