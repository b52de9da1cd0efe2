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
      return {"▆", "▅", "\033[36m"};
    case Lane::kForward:
      return {"░", "░", "\033[32m"};
    case Lane::kBackward:
      return {"▓", "▓", "\033[33m"};
    case Lane::kPush:
      return {"▆", "▅", "\033[35m"};
  }
  return {" ", " ", ""};
}

std::string Coloured(const std::string& text, const char* colour, const Terminal& terminal) {
  return terminal.colour ? colour + text + "\033[0m" : text;
}

constexpr int kLabelColumns = 10;

// Each column shows the span that fills most of it, or nothing if that is less than a third.
std::string DrawLane(const sched::SimReport& report, const std::vector<Lane>& lanes,
                     Nanos full_ns, const Terminal& terminal) {
  std::vector<Span> spans;
  for (const Span& span : report.timeline) {
    const bool wanted = std::find(lanes.begin(), lanes.end(), span.lane) != lanes.end();
    if (wanted && span.end_ns > report.last_begin_ns) spans.push_back(span);
  }
  const int columns = terminal.columns - kLabelColumns - 1;
  std::string line;
  for (int c = 0; c < columns; ++c) {
    // In doubles: full_ns times a column count may not fit an int64.
    const double width = static_cast<double>(full_ns) / columns;
    const double left = static_cast<double>(report.last_begin_ns) + c * width;
    const double end = std::min(left + width, static_cast<double>(report.last_end_ns));
    double most = width / 3;
    std::string cell = " ";
    for (size_t i = 0; i < spans.size(); ++i) {
      const double overlap = std::min(end, static_cast<double>(spans[i].end_ns)) -
                             std::max(left, static_cast<double>(spans[i].begin_ns));
      if (overlap <= most) continue;
      most = overlap;
      const Ink ink = InkOf(spans[i].lane);
      cell = Coloured(i % 2 == 0 ? ink.even : ink.odd, ink.colour, terminal);
    }
    // Many short spans may fill a column together with none of them filling a third.
    if (cell == " ") {
      double covered = 0;
      for (const Span& span : spans) {
        covered += std::max(0.0, std::min(end, static_cast<double>(span.end_ns)) -
                                     std::max(left, static_cast<double>(span.begin_ns)));
      }
      if (covered > width / 2) {
        const Ink ink = InkOf(lanes.front());
        cell = Coloured(ink.odd, ink.colour, terminal);
      }
    }
    line += cell;
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
