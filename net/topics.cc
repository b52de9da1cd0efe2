// SPDX-License-Identifier: Apache-2.0
#include "net/topics.h"

#include <algorithm>

namespace weft::net {
namespace {

constexpr std::string_view kRoot = "weft/";
constexpr Lane kLanes[] = {Lane::kControl, Lane::kPush, Lane::kTelemetry, Lane::kPull};

bool IsNameLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string_view Name(Lane lane) {
  switch (lane) {
    case Lane::kControl:
      return "ctl";
    case Lane::kPush:
      return "push";
    case Lane::kTelemetry:
      return "telemetry";
    case Lane::kPull:
      return "pull";
  }
  return "";
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), IsNameLetter);
}

std::string JobLevel(std::string_view job, int shard, int shards) {
  std::string level(job);
  if (shards > 1) level += ":" + std::to_string(shard);
  return level;
}

std::string TopicOf(std::string_view job_level, std::string_view worker, Lane lane) {
  std::string topic(kRoot);
  topic.append(job_level).append("/").append(worker).append("/").append(Name(lane));
  return topic;
}

std::optional<TopicParts> ParseTopic(std::string_view topic) {
  if (!topic.starts_with(kRoot)) return std::nullopt;
  topic.remove_prefix(kRoot.size());
  const size_t first = topic.find('/');
  if (first == std::string_view::npos) return std::nullopt;
  const size_t second = topic.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view lane = topic.substr(second + 1);
  for (const Lane candidate : kLanes) {
    if (lane == Name(candidate)) {
      return TopicParts{topic.substr(0, first), topic.substr(first + 1, second - first - 1),
                        candidate};
    }
  }
  return std::nullopt;
}

std::string AllWorkers(std::string_view job_level, Lane lane) {
  return TopicOf(job_level, "+", lane);
}

std::string ServersTopic(std::string_view job_level) {
  return std::string(kRoot).append(job_level).append("/servers");
}

}  // namespace weft::net
