// SPDX-License-Identifier: Apache-2.0
// Work that is done, or dies, in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include <CppUTest/TestHarness.h>

namespace weft {

// As wait() tells how it ended; its code is what `work` returns.
inline int InOtherProcess(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace weft
