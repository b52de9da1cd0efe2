// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "apps/terminal/text.h"

namespace weft::apps {
namespace {

constexpr const char* kGreen = "32";
constexpr const char* kYellow = "33";
constexpr const char* kBlue = "34";
constexpr const char* kDim = "2";

std::string Repeated(const char* letter, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += letter;
  return text;
}

std::string Painted(const std::string& text, const char* colour, bool colours) {
  if (!colours || text.empty()) return text;
  return fmt::format("\033[{}m{}\033[0m", colour, text);
}

// Cut to `columns` letters; not for lines with colours.
std::string Cut(const std::string& line, int columns) {
  int letters = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;  // of UTF-8
    if (begins && ++letters > columns) return line.substr(0, i);
  }
  return line;
}

// The first parts with commas between them, as many as fit.
std::string Joined(const std::vector<std::string>& parts, int columns) {
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const size_t before = line.size();
    line.append(line.empty() ? "" : ", ").append(part);
    if (ShownWidth(line) <= columns) continue;
    line.resize(before);
    break;
  }
  return line;
}

std::string PidText(pid_t pid) { return pid > 0 ? fmt::format("pid {}", pid) : ""; }

std::string Plural(int64_t count, const char* what) {
  return fmt::format("{} {}{}", CountText(count), what, count == 1 ? "" : "s");
}

// A column of the workers' table, with what it costs in width.
struct Column {
  std::string header;
  int width = 0;
  std::function<std::string(const WorkerState&)> cell;
};

std::string Known(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string SharesText(const WorkerState& worker) {
  if (!worker.waiting.value()) return "-";
  const auto percent = [](const Smoothed& share) { return std::lround(100 * *share.value()); };
  return fmt::format("{}/{}/{}", percent(worker.computing), percent(worker.overlapping),
                     percent(worker.waiting));
}

std::string SharesBar(const WorkerState& worker, int width, bool colours) {
  if (!worker.waiting.value()) return Repeated(" ", width);
  const int computing = static_cast<int>(std::lround(*worker.computing.value() * width));
  const int busy = static_cast<int>(
      std::lround((*worker.computing.value() + *worker.overlapping.value()) * width));
  return Painted(Repeated("█", computing), kGreen, colours) +
         Painted(Repeated("▒", busy - computing), kYellow, colours) +
         Painted(Repeated("░", width - busy), kBlue, colours);
}

std::string Legend(bool colours) {
  return Painted("█", kGreen, colours) + " computing " + Painted("▒", kYellow, colours) +
         " overlapping " + Painted("░", kBlue, colours) + " waiting";
}

// The most important first; those behind the first that does not fit are left out.
std::vector<Column> ColumnsFor(int name_width, int columns) {
  const auto bytes = [](const std::optional<int64_t>& sum) { return sum ? BytesText(*sum) : "-"; };
  const std::vector<Column> all = {
      {"", name_width, [](const WorkerState& w) { return w.name; }},
      {"round", 6, [](const WorkerState& w) { return CountText(w.round); }},
      {"loss", 6, [](const WorkerState& w) { return Known(w.loss.value(), 4); }},
      {"images/s", 8,
       [](const WorkerState& w) {
         const std::optional<double> rate = w.images_per_s.value();
         return rate ? CountText(std::lround(*rate)) : "-";
       }},
      {"c/o/w %", 9, SharesText},
      {"up", 7, [bytes](const WorkerState& w) { return bytes(w.bytes_up); }},
      {"down", 7, [bytes](const WorkerState& w) { return bytes(w.bytes_down); }},
      {"pid", 8, [](const WorkerState& w) { return std::to_string(w.pid); }},
  };
  std::vector<Column> fitting;
  int width = 0;
  for (const Column& column : all) {
    width += column.width + (fitting.empty() ? 0 : 2);
    if (width > columns) break;
    fitting.push_back(column);
  }
  return fitting;
}

void AddWorkers(const JobState& state, const ScreenSetting& setting, int rows,
                std::vector<std::string>& lines) {
  size_t name_width = 0;
  for (const WorkerState& worker : state.workers) {
    name_width = std::max(name_width, worker.name.size());
  }
  const std::vector<Column> columns =
      ColumnsFor(static_cast<int>(name_width), setting.window.columns);
  std::string header;
  for (const Column& column : columns) {
    header += fmt::format("{}{:>{}}", header.empty() ? "" : "  ", column.header, column.width);
  }
  // What is left of the width shows the shares of time as a bar.
  constexpr int kSmallestBar = 12;
  constexpr int kLargestBar = 40;
  const int bar = std::min(kLargestBar, setting.window.columns - ShownWidth(header) - 2);
  const bool barred = bar >= kSmallestBar;
  const std::string legend = Legend(setting.colour);
  if (barred && bar >= ShownWidth(legend)) header += "  " + legend;
  lines.push_back(header);
  const size_t shown = std::min(state.workers.size(), static_cast<size_t>(std::max(1, rows)));
  for (size_t i = 0; i < shown; ++i) {
    const WorkerState& worker = state.workers[i];
    std::string row;
    for (const Column& column : columns) {
      row += fmt::format("{}{:>{}}", row.empty() ? "" : "  ", column.cell(worker), column.width);
    }
    if (barred) row += "  " + SharesBar(worker, bar, setting.colour);
    lines.push_back(row);
  }
  if (shown < state.workers.size()) {
    lines.push_back(
        Cut(fmt::format("… and {} more", state.workers.size() - shown), setting.window.columns));
  }
}

std::string ServerLine(const JobState& state, int columns) {
  int64_t bytes = 0;
  int64_t segments = 0;
  int64_t workers = state.servers.front().workers;
  std::string pids;
  for (const ServerState& server : state.servers) {
    bytes += server.bytes_taken;
    segments += server.segments_taken;
    pids += (pids.empty() ? "pid " : " ") + std::to_string(server.pid);
    workers = std::min(workers, server.workers);
  }
  return Joined({fmt::format("server  round {} of {}", CountText(state.rounds_done()),
                             CountText(state.rounds)),
                 Plural(workers, "worker"), BytesText(bytes) + " in",
                 segments > 0 ? Plural(segments, "segment") : "", pids},
                columns);
}

std::string BrokerLine(const BrokerState& broker, int columns) {
  return Joined(
      {"broker  " + broker.address, Plural(static_cast<int64_t>(broker.clients.size()), "client"),
       BytesText(broker.memory_bytes) + " of memory", PidText(broker.pid)},
      columns);
}

std::string ProgressLine(const JobState& state, const ScreenSetting& setting) {
  const int64_t done = state.rounds_done();
  std::string text = DurationText(setting.seconds);
  if (done == 0) {
    text += ", starting";
  } else if (done >= state.rounds) {
    text += state.done() ? ", done" : ", testing";
  } else {
    const double rounds_left = static_cast<double>(state.rounds - done);
    const double left =
        done > 1 ? setting.training_seconds * rounds_left / static_cast<double>(done - 1) : 0;
    if (left > 0) text += ", " + DurationText(left) + " left";
  }
  const int width = std::min(60, setting.window.columns - ShownWidth(text) - 2);
  if (width < 10) return Cut(text, setting.window.columns);
  const int full = static_cast<int>(done * width / std::max<int64_t>(1, state.rounds));
  return Painted(Repeated("█", full), kGreen, setting.colour) + Repeated("░", width - full) + "  " +
         text;
}

// Who was killed and is here again.
std::string ReturnedLine(const JobState& state, int columns) {
  std::vector<std::string> parts;
  const auto add = [&parts](const ProgramState& program, const std::string& name) {
    if (program.starts < 2) return;
    parts.push_back(program.starts == 2 ? name
                                        : fmt::format("{} {} times", name, program.starts - 1));
  };
  add(state.broker, "the broker");
  for (const ServerState& server : state.servers) add(server, "the server");
  for (const WorkerState& worker : state.workers) add(worker, worker.name);
  if (parts.empty()) return "";
  parts.front() = "killed and back: " + parts.front();
  return Joined(parts, columns);
}

}  // namespace

int ShownWidth(const std::string& line) {
  int letters = 0;
  bool escape = false;
  for (const char c : line) {
    if (c == '\033') escape = true;
    if (!escape && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++letters;
    if (escape && c == 'm') escape = false;
  }
  return letters;
}

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::vector<std::string> JobScreen(const JobState& state, const ScreenSetting& setting) {
  const int columns = setting.window.columns;
  std::vector<std::string> lines = {Cut(setting.title, columns), "", ServerLine(state, columns),
                                    BrokerLine(state.broker, columns), ""};
  std::vector<std::string> below = {"", ProgressLine(state, setting)};
  if (std::string returned = ReturnedLine(state, columns); !returned.empty()) {
    below.push_back(std::move(returned));
  }
  constexpr int kWithPids = 66;
  if (!setting.hint.empty() && columns >= kWithPids) {
    below.push_back(Painted(Cut(setting.hint, columns), kDim, setting.colour));
  }
  // The header, perhaps "… more", and the row that stays free.
  const int rows = setting.window.rows - static_cast<int>(lines.size() + below.size()) - 3;
  AddWorkers(state, setting, rows, lines);
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

}  // namespace weft::apps
