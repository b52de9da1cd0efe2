// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft::apps {
namespace {

// Three significant digits in the largest unit that leaves at least 1 before the point.
template <size_t N>
std::string Scaled(double value, const std::array<std::pair<double, const char*>, N>& units) {
  for (const auto& [size, name] : units) {
    if (value < size * 0.9995 && size != units.back().first) continue;
    const double scaled = value / size;
    if (size == 1) return fmt::format("{:.0f} {}", scaled, name);
    return fmt::format("{:.{}f} {}", scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, name);
  }
  return "";
}

}  // namespace

std::string TimeText(int64_t ns) {
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  return Scaled(static_cast<double>(ns), kUnits);
}

std::string BytesText(int64_t bytes) {
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return Scaled(static_cast<double>(bytes), kUnits);
}

std::string CountText(int64_t count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string PercentText(double percent) { return fmt::format("{:.1f} %", percent); }

std::string Bar(double share, int width) {
  const int full = static_cast<int>(share * width);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? "█" : "░";
  return bar;
}

std::string ClockText(double seconds) {
  const auto s = static_cast<int64_t>(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string Table::Text() const {
  std::vector<size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < rows_[r].size(); ++c) {
      if (c > 0) line += "  ";
      line += c == 0 ? fmt::format("{:<{}}", rows_[r][c], widths[c])
                     : fmt::format("{:>{}}", rows_[r][c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) {
      size_t rule = 2 * (widths.size() - 1);
      for (size_t width : widths) rule += width;
      text += std::string(rule, '-') + "\n";
    }
  }
  return text;
}

}  // namespace weft::apps
