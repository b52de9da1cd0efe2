// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace weft::apps {

Terminal ThisTerminal() {
  Terminal terminal;
  if (!isatty(STDOUT_FILENO)) return terminal;
  terminal.live = true;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = std::clamp<int>(size.ws_col, 60, 160);
  }
  terminal.colour = std::getenv("NO_COLOR") == nullptr;
  return terminal;
}

}  // namespace weft::apps
