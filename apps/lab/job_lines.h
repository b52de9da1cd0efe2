// SPDX-License-Identifier: Apache-2.0
// What the programs of a job print with --json, read. Everything but the round's number may be
// missing: then it is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/status.h"

namespace weft::apps {

// One round as one worker lived it.
struct WorkerRound {
  int64_t round = 0;  // 1 is the first
  std::optional<double> loss;
  std::optional<double> images_per_s;
  std::optional<double> total_ms;
  // Parts of it: computing alone, computing while the link was busy, waiting.
  std::optional<double> compute_ms;
  std::optional<double> overlap_ms;
  std::optional<double> wait_ms;
  std::optional<double> late_ms;  // replayed units took so much longer than they were to
  std::optional<int64_t> segments_up;
  std::optional<int64_t> segments_down;
  std::optional<int64_t> bytes_up;
  std::optional<int64_t> bytes_down;
  // What the plan in force promised, and what no plan can beat.
  std::optional<double> predicted_ms;
  std::optional<double> bound_ms;
  // The link as measured.
  std::optional<double> delta_up_us;
  std::optional<double> delta_down_us;
  std::optional<double> mbps_up;
  std::optional<double> mbps_down;
  std::optional<double> latency_ms;
  bool planned = false;  // the plan changed after this round
  std::string strategy;
  std::string compute;  // "real" or "replay"
};

struct WorkerEnd {
  std::string model_hash;
  std::optional<double> top1;  // of 1
};

struct ServerRound {
  int64_t round = 0;  // so many are done
  std::optional<int64_t> workers;
  std::optional<int64_t> bytes_taken;     // in this round
  std::optional<int64_t> bytes_sent;      // in this round
  std::optional<int64_t> segments_taken;  // in this round
  std::optional<int64_t> disk_wait_ns;    // in this round: only the disk was missing to go on
};

struct ServerEnd {
  std::string model_hash;  // empty where servers share the model
};

// monostate: an object that says something else. Unavailable: not a JSON object.
Result<std::variant<std::monostate, WorkerRound, WorkerEnd>> ParseWorkerLine(
    const std::string& line);
Result<std::variant<std::monostate, ServerRound, ServerEnd>> ParseServerLine(
    const std::string& line);

// Computing alone, overlapping and waiting, of 1; nullopt if the worker does not say.
struct TimeShares {
  double computing = 0;
  double overlapping = 0;
  double waiting = 0;
};
std::optional<TimeShares> SharesOf(const WorkerRound& round);

}  // namespace weft::apps
