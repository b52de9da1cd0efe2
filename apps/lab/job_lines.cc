// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::apps {
namespace {

using nlohmann::json;

Result<json> ObjectOf(const std::string& line) {
  json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_object()) return object;
  constexpr size_t kShown = 80;
  return Status::Unavailable("not a JSON object: '" + line.substr(0, kShown) + "'");
}

template <typename T>
void Take(const json& object, const char* key, std::optional<T>& value) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number()) value = found->get<T>();
}

void Take(const json& object, const char* key, std::string& value) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_string()) value = found->get<std::string>();
}

bool IsTrue(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

Result<std::variant<std::monostate, WorkerRound, WorkerEnd>> ParseWorkerLine(
    const std::string& line) {
  using Answer = std::variant<std::monostate, WorkerRound, WorkerEnd>;
  const Result<json> object = ObjectOf(line);
  if (!object.ok()) return object.status();
  if (IsTrue(*object, "final")) {
    WorkerEnd end;
    Take(*object, "model_hash", end.model_hash);
    Take(*object, "top1", end.top1);
    return Answer(end);
  }
  std::optional<int64_t> number;
  Take(*object, "step", number);
  if (!number) Take(*object, "round", number);
  if (!number) return Answer();
  WorkerRound round{.round = *number};
  Take(*object, "loss", round.loss);
  Take(*object, "images_per_s", round.images_per_s);
  Take(*object, "total_ms", round.total_ms);
  Take(*object, "compute_ms", round.compute_ms);
  Take(*object, "overlap_ms", round.overlap_ms);
  Take(*object, "wait_ms", round.wait_ms);
  Take(*object, "late_ms", round.late_ms);
  Take(*object, "segments_up", round.segments_up);
  Take(*object, "segments_down", round.segments_down);
  Take(*object, "bytes_up", round.bytes_up);
  Take(*object, "bytes_down", round.bytes_down);
  Take(*object, "predicted_ms", round.predicted_ms);
  Take(*object, "bound_ms", round.bound_ms);
  Take(*object, "delta_up_us", round.delta_up_us);
  Take(*object, "delta_down_us", round.delta_down_us);
  Take(*object, "mbps_up", round.mbps_up);
  Take(*object, "mbps_down", round.mbps_down);
  Take(*object, "latency_ms", round.latency_ms);
  Take(*object, "strategy", round.strategy);
  Take(*object, "compute", round.compute);
  round.planned = IsTrue(*object, "planned");
  return Answer(std::move(round));
}

Result<std::variant<std::monostate, ServerRound, ServerEnd>> ParseServerLine(
    const std::string& line) {
  using Answer = std::variant<std::monostate, ServerRound, ServerEnd>;
  const Result<json> object = ObjectOf(line);
  if (!object.ok()) return object.status();
  if (IsTrue(*object, "final")) {
    ServerEnd end;
    Take(*object, "model_hash", end.model_hash);
    return Answer(std::move(end));
  }
  std::optional<int64_t> number;
  Take(*object, "round", number);
  if (!number) return Answer();
  ServerRound round{.round = *number};
  Take(*object, "workers", round.workers);
  Take(*object, "bytes_taken", round.bytes_taken);
  Take(*object, "bytes_sent", round.bytes_sent);
  Take(*object, "segments_taken", round.segments_taken);
  Take(*object, "disk_wait_ns", round.disk_wait_ns);
  return Answer(round);
}

std::optional<TimeShares> SharesOf(const WorkerRound& round) {
  if (!round.compute_ms || !round.wait_ms) return std::nullopt;
  TimeShares shares{std::max(0.0, *round.compute_ms), std::max(0.0, round.overlap_ms.value_or(0)),
                    std::max(0.0, *round.wait_ms)};
  const double all = shares.computing + shares.overlapping + shares.waiting;
  if (all <= 0) return std::nullopt;
  return TimeShares{shares.computing / all, shares.overlapping / all, shares.waiting / all};
}

}  // namespace weft::apps
