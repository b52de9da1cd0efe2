// SPDX-License-Identifier: Apache-2.0
#include "boards/cpu_list.h"

#include <algorithm>
#include <charconv>

namespace weft::boards {
namespace {

// More than any board has: a broken file must not fill the memory.
constexpr int kMostCpus = 4096;

// The number that `text` begins with, taken off it; -1 if there is none.
int TakeNumber(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const int first = TakeNumber(part);
    int last = first;
    if (part.starts_with("-")) {
      part.remove_prefix(1);
      last = TakeNumber(part);
    }
    if (first < 0 || last >= kMostCpus) continue;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string CpuListText(const std::vector<int>& ascending) {
  std::string text;
  for (size_t i = 0; i < ascending.size();) {
    size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(ascending[i]);
    if (end - i > 1) text += "-" + std::to_string(ascending[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace weft::boards
