// SPDX-License-Identifier: Apache-2.0
// How long each thread of the lab's programs has run: one that always runs limits the job, however
// many other processors are idle.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::apps {

// A program of the lab, and its name for people.
struct WatchedProgram {
  std::string name;
  pid_t pid = -1;
  // Its computing is what is measured, and may take a whole processor: its threads count only if
  // they have names of their own, which those have that carry messages.
  bool computes = false;
};

// "17 (weft-edge) S 1 ..." of /proc/PID/task/TID/stat; nullopt for other text.
struct ThreadStat {
  std::string name;
  int64_t user_ticks = 0;
  int64_t system_ticks = 0;
  int nice = 0;
};
std::optional<ThreadStat> ParseThreadStat(const std::string& text);

struct ThreadTime {
  std::string program;  // for people
  bool counts = true;   // false: it computes
  int64_t ticks = 0;
  int64_t niced_ticks = 0;  // of those, what /proc/stat has under "nice"
};
// By thread.
using ThreadTimes = std::map<pid_t, ThreadTime>;

// As they are now. Threads that have ended since they were last read stay as they were.
void ReadThreadTimes(const std::vector<WatchedProgram>& programs, ThreadTimes& times);

}  // namespace weft::apps
