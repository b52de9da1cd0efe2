// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "apps/weft/workbench.h"

namespace {

weft::apps::Terminal ThisTerminal() {
  weft::apps::Terminal terminal;
  if (!isatty(STDOUT_FILENO)) return terminal;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = std::clamp<int>(size.ws_col, 60, 160);
  }
  terminal.colour = std::getenv("NO_COLOR") == nullptr;
  return terminal;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::apps::RunWeft({argv + 1, argv + argc}, std::cout, std::cerr, ThisTerminal());
}
