// SPDX-License-Identifier: Apache-2.0
// The names of topics: weft/<job>/<worker>/<lane>, and weft/<job>:<shard>/... where a job has more
// than one server. A worker's topics are its own: it alone publishes on the first three lanes and
// listens on the last.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::net {

enum class Lane {
  kControl,    // "ctl": from the worker, everything small that matters
  kPush,       // "push": from the worker, gradients
  kTelemetry,  // "telemetry": from the worker, for those who watch
  kPull,       // "pull": to the worker, everything the server says
};

std::string_view Name(Lane lane);

// Jobs and workers are named by 1 to 64 letters, digits, '-', '_' and '.', not beginning with a
// '.'.
bool IsName(std::string_view text);

// "job", or "job:2" where there are several servers.
std::string JobLevel(std::string_view job, int shard, int shards);

std::string TopicOf(std::string_view job_level, std::string_view worker, Lane lane);

struct TopicParts {
  std::string_view job_level;
  std::string_view worker;
  Lane lane;
};

// Nullopt if it is none of ours. The parts look into `topic`.
std::optional<TopicParts> ParseTopic(std::string_view topic);

// What a server of `job_level` listens on: every worker's `lane`.
std::string AllWorkers(std::string_view job_level, Lane lane);

// Where a server says, in its name's bytes, which worker the broker should shut out for a while; a
// broker without weft's guard hears it and does nothing.
inline constexpr const char* kShutOutTopic = "$CONTROL/weft/shut-out";

// weft/<job level>/servers: where the servers of a job level tell each other that they are there.
std::string ServersTopic(std::string_view job_level);

}  // namespace weft::net
