// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal/spdlog_sink.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

namespace weft::apps {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
  }
  return spdlog::level::warn;
}

}  // namespace

SpdlogSink::SpdlogSink(std::ostream& stream)
    : logger_(std::make_unique<spdlog::logger>(
          "weft", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream))) {
  logger_->set_level(spdlog::level::debug);
  logger_->set_pattern("%H:%M:%S.%e %l %v");
}

SpdlogSink::~SpdlogSink() = default;

void SpdlogSink::Write(LogLevel level, std::string_view line) {
  logger_->log(LevelOf(level), "{}", line);
}

}  // namespace weft::apps
