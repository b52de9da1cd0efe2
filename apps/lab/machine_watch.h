// SPDX-License-Identifier: Apache-2.0
// Whether a measurement was of the link, or of a machine that could not keep up with it.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "net/link/link_setting.h"

namespace weft::apps {

// Processors' time since the machine started, in ticks.
struct ProcessorTicks {
  int64_t all = 0;
  int64_t idle = 0;
};

// From the text of /proc/stat; nothing where that is not to be had.
ProcessorTicks ParseProcStat(const std::string& text);
ProcessorTicks TicksNow();

// All links together, one way and the other.
struct Lateness {
  double packets = 0;
  double late_ns = 0;  // the sum
  double late = 0;     // packets later than net::kLateNs
  double unread = 0;   // packets that were lost because nobody fetched them in time

  void Add(const net::LinkCounters& counters);
};

// A moment of a run; two of them tell what was in between.
struct MachineMoment {
  ProcessorTicks ticks;
  Lateness lateness;
};

struct MachineFacts {
  double idle_share = 1;    // of all processors' time
  double mean_late_ns = 0;  // of a packet
  double late_share = 0;    // of packets, later than net::kLateNs
  double unread_share = 0;  // of packets
};
MachineFacts Between(const MachineMoment& from, const MachineMoment& to);

// Empty if the link was what took the time; else why not.
std::string WhyInvalid(const MachineFacts& facts);

}  // namespace weft::apps
