// SPDX-License-Identifier: Apache-2.0
// How the workbench writes for people: times, sizes, and tables with aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::apps {

std::string TimeText(int64_t ns);         // "812 ns", "14.2 us", "3.41 ms", "12.6 s"
std::string BytesText(int64_t bytes);     // "812 B", "44.6 MB"
std::string CountText(int64_t count);     // "11,689,512"
std::string PercentText(double percent);  // "41.1 %"
std::string ClockText(double seconds);    // "0:07", "1:02:33"
std::string Bar(double share, int width);

// The first column is left-aligned, the others right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Lines ending in a newline, with a rule under the header.
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::apps
