// SPDX-License-Identifier: Apache-2.0
// Some lines at the bottom of a terminal that are drawn over again and again.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace weft::apps {

struct WindowSize {
  int columns = 80;
  int rows = 24;
};
// Of the terminal that stdout is, as it is now.
WindowSize ThisWindow();

class LiveRegion {
 public:
  explicit LiveRegion(std::ostream& out) : out_(out) {}

  // Over what was drawn before, in one piece, so that nothing flickers. Every line must fit into a
  // row, and all of them into the window with one row to spare. A window that has changed its width
  // has wrapped what was there: then it starts anew below.
  void Draw(const std::vector<std::string>& lines, int columns);

 private:
  std::ostream& out_;
  size_t drawn_ = 0;
  int columns_ = 0;
};

}  // namespace weft::apps
