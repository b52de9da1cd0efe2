// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/gantt.h"

#include <algorithm>
#include <vector>

namespace weft::apps {
namespace {

using sched::Lane;
using sched::Nanos;
using sched::Span;

struct Ink {
  const char* even;
  const char* odd;
  const char* colour;  // ANSI
};

Ink InkOf(Lane lane) {
  switch (lane) {
    case Lane::kPull:
      return {"█", "▒", "\033[36m"};
    case Lane::kForward:
      return {"░", "░", "\033[32m"};
    case Lane::kBackward:
      return {"▓", "▓", "\033[33m"};
    case Lane::kPush:
      return {"█", "▒", "\033[35m"};
    case Lane::kPlan:
      break;  // too short to be seen
  }
  return {" ", " ", ""};
}

std::string Coloured(const std::string& text, const char* colour, const Terminal& terminal) {
  return terminal.colour ? colour + text + "\033[0m" : text;
}

constexpr int kLabelColumns = 10;

// A column is inked if spans fill at least a quarter of it, in the way of the one that fills most.
std::string DrawLane(const sched::SimReport& report, const std::vector<Lane>& lanes, Nanos full_ns,
                     const Terminal& terminal) {
  std::vector<Span> spans;
  for (const Span& span : report.timeline) {
    const bool wanted = std::find(lanes.begin(), lanes.end(), span.lane) != lanes.end();
    if (wanted && span.end_ns > report.last_begin_ns) spans.push_back(span);
  }
  const int columns = terminal.columns - kLabelColumns - 1;
  // In doubles: full_ns times a column count may not fit an int64.
  const double width = static_cast<double>(full_ns) / columns;
  std::string line;
  for (int c = 0; c < columns; ++c) {
    const double left = static_cast<double>(report.last_begin_ns) + c * width;
    const double right = std::min(left + width, static_cast<double>(report.last_end_ns));
    double covered = 0;
    double most = 0;
    size_t widest = 0;
    for (size_t i = 0; i < spans.size(); ++i) {
      const double overlap = std::min(right, static_cast<double>(spans[i].end_ns)) -
                             std::max(left, static_cast<double>(spans[i].begin_ns));
      if (overlap <= 0) continue;
      covered += overlap;
      if (overlap > most) {
        most = overlap;
        widest = i;
      }
    }
    if (covered < width / 4) {
      line += " ";
      continue;
    }
    const Ink ink = InkOf(spans[widest].lane);
    line += Coloured(widest % 2 == 0 ? ink.even : ink.odd, ink.colour, terminal);
  }
  return line;
}

}  // namespace

std::string Gantt(const sched::SimReport& report, Nanos full_ns, const Terminal& terminal) {
  const auto lane = [&](const char* label, const std::vector<Lane>& lanes) {
    std::string name = label;
    name.resize(kLabelColumns, ' ');
    return name + DrawLane(report, lanes, full_ns, terminal) + "\n";
  };
  return lane("  pull", {Lane::kPull}) + lane("  compute", {Lane::kForward, Lane::kBackward}) +
         lane("  push", {Lane::kPush});
}

std::string GanttLegend(const Terminal& terminal) {
  const auto sample = [&](Lane lane, const char* name) {
    const Ink ink = InkOf(lane);
    return Coloured(std::string(ink.even) + ink.odd, ink.colour, terminal) + " " + name;
  };
  return "  " + sample(Lane::kForward, "forward") + "   " + sample(Lane::kBackward, "backward") +
         "   " + sample(Lane::kPull, "parameters down") + "   " +
         sample(Lane::kPush, "gradients up") + "\n";
}

}  // namespace weft::apps
