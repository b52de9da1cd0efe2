// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/thread_times.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace weft::apps {
namespace {

std::optional<ThreadStat> ReadStat(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  return ParseThreadStat({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

}  // namespace

// "TID (NAME) STATE ..."; the name may have anything in it. The 14th and 15th words are the ticks,
// the 19th is nice, all counted from 1.
std::optional<ThreadStat> ParseThreadStat(const std::string& text) {
  const size_t begin = text.find('(');
  const size_t end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  ThreadStat stat{.name = text.substr(begin + 1, end - begin - 1)};
  std::istringstream words(text.substr(end + 1));
  std::string skipped;
  for (int word = 3; word < 14; ++word) words >> skipped;
  words >> stat.user_ticks >> stat.system_ticks;
  for (int word = 16; word < 19; ++word) words >> skipped;
  words >> stat.nice;
  return words ? std::optional(stat) : std::nullopt;
}

void ReadThreadTimes(const std::vector<WatchedProgram>& programs, ThreadTimes& times) {
  for (const WatchedProgram& program : programs) {
    const std::filesystem::path folder = "/proc/" + std::to_string(program.pid);
    const std::optional<ThreadStat> first = ReadStat(folder);
    if (!first) continue;
    std::error_code gone;
    for (std::filesystem::directory_iterator thread(folder / "task", gone), end;
         !gone && thread != end; thread.increment(gone)) {
      const std::optional<ThreadStat> stat = ReadStat(thread->path());
      if (!stat) continue;
      times[static_cast<pid_t>(std::stol(thread->path().filename()))] = {
          .program = program.name,
          .counts = !program.computes || stat->name != first->name,
          .ticks = stat->user_ticks + stat->system_ticks,
          .niced_ticks = stat->nice > 0 ? stat->user_ticks : 0};
    }
  }
}

}  // namespace weft::apps
