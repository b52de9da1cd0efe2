// SPDX-License-Identifier: Apache-2.0
// The seam for telling people what happens. Programs choose where lines go by giving a LogSink;
// code below apps is handed a Logger and never opens a stream of its own.
#pragma once

#include <string_view>

namespace weft {

enum class LogLevel { kDebug, kInfo, kWarning };

// Thread: any; an implementation does its own locking.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogLevel level, std::string_view line) = 0;
};

// A value that borrows its sink, which must outlive it.
class Logger {
 public:
  Logger(LogSink& sink, LogLevel least) : sink_(&sink), least_(least) {}

  bool Wants(LogLevel level) const { return level >= least_; }
  void Debug(std::string_view line) const { Write(LogLevel::kDebug, line); }
  void Info(std::string_view line) const { Write(LogLevel::kInfo, line); }
  void Warning(std::string_view line) const { Write(LogLevel::kWarning, line); }

 private:
  void Write(LogLevel level, std::string_view line) const {
    if (Wants(level)) sink_->Write(level, line);
  }

  LogSink* sink_;
  LogLevel least_;
};

}  // namespace weft
