// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/machine_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "apps/terminal/text.h"

namespace weft::apps {
namespace {

constexpr double kLeastIdle = 0.05;
constexpr double kMostBusy = 0.9;  // a thread that wants all of a processor gets about that
constexpr double kMostDisk = 0.05;
constexpr double kMostMeanLateNs = 1e6;
constexpr double kMostLate = 0.02;
constexpr double kMostUnread = 0.001;
constexpr double kMostReplayLate = 0.02;

int64_t NicedTicks(const ThreadTimes& threads) {
  int64_t ticks = 0;
  for (const auto& [thread, time] : threads) ticks += time.niced_ticks;
  return ticks;
}

// What others do at a lower priority is ours to take; what the lab does, however niced, is not.
double IdleShare(const MachineMoment& from, const MachineMoment& to) {
  const int64_t all = to.ticks.all - from.ticks.all;
  if (all <= 0) return 1;
  const int64_t own = NicedTicks(to.threads) - NicedTicks(from.threads);
  const int64_t others = std::max<int64_t>(0, to.ticks.niced - from.ticks.niced - own);
  return static_cast<double>(to.ticks.idle - from.ticks.idle + others) / static_cast<double>(all);
}

void FindBusiest(const MachineMoment& from, const MachineMoment& to, MachineFacts& facts) {
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double all = static_cast<double>(to.at_ns - from.at_ns) / 1e9 * ticks_per_s;
  for (const auto& [thread, time] : to.threads) {
    if (!time.counts || all <= 0) continue;
    const auto before = from.threads.find(thread);
    const int64_t ticks = time.ticks - (before == from.threads.end() ? 0 : before->second.ticks);
    const double share = static_cast<double>(ticks) / all;
    if (share <= facts.busiest_share) continue;
    facts.busiest_share = share;
    facts.busiest = time.program;
  }
}

double DiskShare(const MachineMoment& from, const MachineMoment& to) {
  int64_t most_ns = 0;
  for (size_t server = 0; server < to.disk_wait_ns.size(); ++server) {
    const bool known = server < from.disk_wait_ns.size();
    most_ns = std::max(most_ns, to.disk_wait_ns[server] - (known ? from.disk_wait_ns[server] : 0));
  }
  const int64_t all_ns = to.at_ns - from.at_ns;
  return all_ns <= 0 ? 0 : static_cast<double>(most_ns) / static_cast<double>(all_ns);
}

std::string ShareText(double share) { return PercentText(100 * share); }

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; a guest's time is part of
// the user's.
ProcessorTicks ParseProcStat(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  words >> name;
  if (name != "cpu") return {};
  ProcessorTicks ticks;
  constexpr int kNice = 1;
  constexpr int kIdle = 3;
  constexpr int kWaitingForDisk = 4;
  constexpr int kFields = 8;
  int64_t value = 0;
  for (int field = 0; field < kFields && words >> value; ++field) {
    ticks.all += value;
    if (field == kNice) ticks.niced += value;
    if (field == kIdle || field == kWaitingForDisk) ticks.idle += value;
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
  const bool known = unread && counters.unread;
  unread = known ? std::optional(*unread + static_cast<double>(*counters.unread)) : std::nullopt;
}

MachineFacts Between(const MachineMoment& from, const MachineMoment& to) {
  const double packets = std::max(1.0, to.lateness.packets - from.lateness.packets);
  MachineFacts facts{.idle_share = IdleShare(from, to),
                     .disk_share = DiskShare(from, to),
                     .mean_late_ns = (to.lateness.late_ns - from.lateness.late_ns) / packets,
                     .late_share = (to.lateness.late - from.lateness.late) / packets,
                     .unread_share = std::nullopt,
                     .replay_late_share = std::nullopt};
  if (from.lateness.unread && to.lateness.unread) {
    facts.unread_share = (*to.lateness.unread - *from.lateness.unread) / packets;
  }
  FindBusiest(from, to, facts);
  return facts;
}

std::string WhyInvalid(const MachineFacts& facts) {
  if (facts.mean_late_ns > kMostMeanLateNs) {
    return fmt::format("the emulated link delivered {} late on average",
                       TimeText(static_cast<int64_t>(facts.mean_late_ns)));
  }
  if (facts.late_share > kMostLate) {
    return fmt::format("the emulated link delivered {} of the packets more than {} late",
                       ShareText(facts.late_share), TimeText(net::kLateNs));
  }
  if (!facts.unread_share) return "how many packets the emulated link missed is not known";
  if (*facts.unread_share > kMostUnread) {
    return fmt::format("the emulated link missed {} of the packets",
                       ShareText(*facts.unread_share));
  }
  if (facts.idle_share < kLeastIdle) {
    return fmt::format("the processors were idle for {} of the time only",
                       ShareText(facts.idle_share));
  }
  if (facts.busiest_share > kMostBusy) {
    return fmt::format("a thread of {} was busy for {} of the time", facts.busiest,
                       ShareText(facts.busiest_share));
  }
  if (facts.disk_share > kMostDisk) {
    return fmt::format(
        "a server waited for its disk for {} of the time; let TMPDIR name a folder on a faster one",
        ShareText(facts.disk_share));
  }
  if (facts.replay_late_share.value_or(0) > kMostReplayLate) {
    return fmt::format("a worker's replayed units took {} of the time longer than they were to",
                       ShareText(*facts.replay_late_share));
  }
  return "";
}

}  // namespace weft::apps
