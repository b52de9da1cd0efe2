// SPDX-License-Identifier: Apache-2.0
// Sends log lines to a stream through spdlog. Thread: any.
#pragma once

#include <iosfwd>
#include <memory>

#include "core/log.h"

namespace spdlog {
class logger;
}

namespace weft::apps {

class SpdlogSink final : public LogSink {
 public:
  // `stream` must outlive the sink.
  explicit SpdlogSink(std::ostream& stream);
  ~SpdlogSink() override;
  void Write(LogLevel level, std::string_view line) override;

 private:
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace weft::apps
