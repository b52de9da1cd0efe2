// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/live_region.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

namespace weft::apps {

WindowSize ThisWindow() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {.columns = std::max<int>(20, size.ws_col), .rows = std::max<int>(5, size.ws_row)};
}

void LiveRegion::Draw(const std::vector<std::string>& lines, int columns) {
  std::string frame;
  if (drawn_ > 0 && columns == columns_) frame = "\r\033[" + std::to_string(drawn_) + "A";
  for (const std::string& line : lines) frame += line + "\033[K\n";
  frame += "\033[J";  // what an earlier frame had below
  out_ << frame << std::flush;
  drawn_ = lines.size();
  columns_ = columns;
}

}  // namespace weft::apps
