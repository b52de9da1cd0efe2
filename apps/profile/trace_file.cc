// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft::apps {
namespace {

using nlohmann::json;
using sched::Lane;
using sched::Span;

struct LaneTag {
  int thread;
  const char* thread_name;
  const char* verb;
};

LaneTag TagOf(Lane lane) {
  switch (lane) {
    case Lane::kForward:
      return {1, "compute", "forward"};
    case Lane::kBackward:
      return {1, "compute", "backward"};
    case Lane::kPush:
      return {2, "push", "push"};
    case Lane::kPull:
      return {3, "pull", "pull"};
    case Lane::kPlan:
      return {4, "planner", "plan"};
  }
  return {0, "", ""};
}

json Named(const char* what, int process, int thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

Status WriteTrace(const std::string& path, const std::vector<TraceTrack>& tracks) {
  std::ofstream file(path);
  file << R"({"displayTimeUnit":"ms","traceEvents":[)";
  const char* separator = "\n";
  const auto add = [&](const json& event) {
    file << separator << event;
    separator = ",\n";
  };
  for (size_t t = 0; t < tracks.size(); ++t) {
    const TraceTrack& track = tracks[t];
    const int process = static_cast<int>(t) + 1;
    add(Named("process_name", process, 0, track.name));
    for (Lane lane : {Lane::kForward, Lane::kPush, Lane::kPull, Lane::kPlan}) {
      const bool shown =
          lane != Lane::kPlan || std::ranges::any_of(track.timeline, [](const Span& span) {
            return span.lane == Lane::kPlan;
          });
      if (!shown) continue;
      const LaneTag tag = TagOf(lane);
      add(Named("thread_name", process, tag.thread, tag.thread_name));
    }
    for (const Span& span : track.timeline) {
      const LaneTag tag = TagOf(span.lane);
      const auto name_of = [&](int unit) {
        return track.units[static_cast<size_t>(unit) - 1].name;
      };
      std::string units;
      if (span.lane != Lane::kPlan) {
        units = name_of(span.first_unit);
        if (span.last_unit != span.first_unit) units += ".." + name_of(span.last_unit);
      }
      // Microseconds, as the format wants; the fraction keeps the nanoseconds.
      add({{"ph", "X"},
           {"name", fmt::format("{} {}", tag.verb, units)},
           {"cat", tag.verb},
           {"pid", process},
           {"tid", tag.thread},
           {"ts", static_cast<double>(span.begin_ns) / 1000},
           {"dur", static_cast<double>(span.end_ns - span.begin_ns) / 1000},
           {"args",
            {{"round", span.round},
             {"first_unit", span.first_unit},
             {"last_unit", span.last_unit}}}});
    }
  }
  file << "\n]}\n";
  file.close();
  if (!file) {
    return Status::Unavailable("cannot write '" + path + "'; is the folder there and writable?");
  }
  return Status::Ok();
}

}  // namespace weft::apps
