// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "apps/compute/short_waits.h"
#include "apps/terminal/console.h"
#include "apps/weft/workbench.h"

int main(int argc, char** argv) {
  weft::apps::ShortenWaits(argv);
  return weft::apps::RunWeft({argv + 1, argv + argc}, std::cout, std::cerr,
                             weft::apps::ThisTerminal());
}
