// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/machine_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "apps/terminal/text.h"

namespace weft::apps {
namespace {

constexpr double kLeastIdle = 0.05;
constexpr double kMostMeanLateNs = 1e6;
constexpr double kMostLate = 0.02;
constexpr double kMostUnread = 0.001;

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; a guest's time is part of
// the user's.
ProcessorTicks ParseProcStat(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  words >> name;
  if (name != "cpu") return {};
  ProcessorTicks ticks;
  constexpr int kNice = 1;  // work that steps aside
  constexpr int kIdle = 3;
  constexpr int kWaitingForDisk = 4;
  constexpr int kFields = 8;
  int64_t value = 0;
  for (int field = 0; field < kFields && words >> value; ++field) {
    ticks.all += value;
    if (field == kNice || field == kIdle || field == kWaitingForDisk) ticks.idle += value;
  }
  return ticks;
}

ProcessorTicks TicksNow() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return ParseProcStat(line);
}

void Lateness::Add(const net::LinkCounters& counters) {
  const auto count = static_cast<double>(counters.packets);
  packets += count;
  late_ns += count * static_cast<double>(counters.mean_late_ns);
  late += static_cast<double>(counters.late);
  unread += static_cast<double>(counters.unread);
}

MachineFacts Between(const MachineMoment& from, const MachineMoment& to) {
  const int64_t ticks = to.ticks.all - from.ticks.all;
  const double packets = std::max(1.0, to.lateness.packets - from.lateness.packets);
  return {.idle_share = ticks <= 0 ? 1
                                   : static_cast<double>(to.ticks.idle - from.ticks.idle) /
                                         static_cast<double>(ticks),
          .mean_late_ns = (to.lateness.late_ns - from.lateness.late_ns) / packets,
          .late_share = (to.lateness.late - from.lateness.late) / packets,
          .unread_share = (to.lateness.unread - from.lateness.unread) / packets};
}

std::string WhyInvalid(const MachineFacts& facts) {
  if (facts.mean_late_ns > kMostMeanLateNs) {
    return fmt::format("the emulated link delivered {} late on average",
                       TimeText(static_cast<int64_t>(facts.mean_late_ns)));
  }
  if (facts.late_share > kMostLate) {
    return fmt::format("the emulated link delivered {} of the packets more than {} late",
                       PercentText(100 * facts.late_share), TimeText(net::kLateNs));
  }
  if (facts.unread_share > kMostUnread) {
    return fmt::format("the emulated link missed {} of the packets",
                       PercentText(100 * facts.unread_share));
  }
  if (facts.idle_share < kLeastIdle) {
    return fmt::format("the processors were idle for {} of the time only",
                       PercentText(100 * facts.idle_share));
  }
  return "";
}

}  // namespace weft::apps
