// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cassert>

namespace weft::apps {

StopSignals::StopSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops, number);
  sigset_t blocked = stops;
  sigaddset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  file_ = signalfd(-1, &stops, SFD_NONBLOCK | SFD_CLOEXEC);
  assert(file_ >= 0);
}

StopSignals::~StopSignals() {
  // One more Ctrl-C while things were put back is not to be the program's end.
  while (Take()) {
  }
  timespec at_once = {};
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigtimedwait(&pipe, nullptr, &at_once);
  close(file_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<StopSignals::Stop> StopSignals::Take() const {
  signalfd_siginfo info = {};
  if (read(file_, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return std::nullopt;
  return Stop{.number = static_cast<int>(info.ssi_signo), .typed = info.ssi_code == SI_KERNEL};
}

}  // namespace weft::apps
