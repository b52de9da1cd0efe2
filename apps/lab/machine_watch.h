// SPDX-License-Identifier: Apache-2.0
// Whether a measurement was of the link, or of a machine that could not keep up with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/lab/thread_times.h"
#include "core/status.h"
#include "net/link/link_setting.h"

namespace weft::apps {

// Processors' time since the machine started, in ticks. Who waits for a disk leaves the processor
// idle: what the servers' disks held up, they tell themselves.
struct ProcessorTicks {
  int64_t all = 0;
  int64_t idle = 0;
  int64_t niced = 0;  // of programs that step aside, the lab's own among them if it was niced
};

// From the text of /proc/stat; nothing where that is not to be had.
ProcessorTicks ParseProcStat(const std::string& text);
ProcessorTicks TicksNow();

// All links together, one way and the other.
struct Lateness {
  double packets = 0;
  double late_ns = 0;  // the sum
  double late = 0;     // packets later than net::kLateNs
  // Packets that were lost because nobody fetched them in time; nullopt: not known of all.
  std::optional<double> unread = 0;

  void Add(const net::LinkCounters& counters);
};

// A moment of a run; two of them tell what was in between.
struct MachineMoment {
  int64_t at_ns = 0;
  ProcessorTicks ticks;
  ThreadTimes threads;
  Lateness lateness;
  std::vector<int64_t> disk_wait_ns;  // of each server, so far
};

struct MachineFacts {
  double idle_share = 1;     // of all processors' time; what others do at a lower priority is idle
  double busiest_share = 0;  // of the time, for which the busiest thread of the lab's ran
  std::string busiest = {};  // whose it was
  double disk_share = 0;     // of the time, for which a server waited for its disk
  double mean_late_ns = 0;   // of a packet
  double late_share = 0;     // of packets, later than net::kLateNs
  std::optional<double> unread_share = 0;  // of packets; nullopt: not known
  // Of the time of the rounds, by which replayed units took longer than they were to; nullopt:
  // computing was real.
  std::optional<double> replay_late_share = {};
};
// All but replay_late_share, which workers tell with their rounds.
MachineFacts Between(const MachineMoment& from, const MachineMoment& to);

// Empty if the link was what took the time; else why not.
std::string WhyInvalid(const MachineFacts& facts);

}  // namespace weft::apps
