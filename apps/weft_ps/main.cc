// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <iostream>

#include "apps/terminal/console.h"
#include "apps/weft_ps/ps.h"

namespace {

std::atomic<bool> stop{false};

// The first Ctrl-C asks for an orderly end, the second gets its way.
void AskToStop(int signal) {
  stop = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, AskToStop);
  std::signal(SIGTERM, AskToStop);
  return weft::apps::RunPs({argv + 1, argv + argc}, std::cout, std::cerr,
                           weft::apps::ThisTerminal(), stop);
}
