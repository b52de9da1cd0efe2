// SPDX-License-Identifier: Apache-2.0
// Programs that a test starts and that never outlive it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::net {

// Where `name` is, on PATH or among the system's own programs, or empty.
std::string FindProgram(const std::string& name);

// The first word is a path. What it says goes to `output`, a descriptor; it gets no other of the
// test's. Aborts if the system cannot start anything.
pid_t StartProgram(const std::vector<std::string>& words, int output);

// Whether it ended, with success. What it says is lost.
bool RunProgram(const std::vector<std::string>& words);

// Sends `signal`, then waits for the end. A program that was stopped is continued by SIGKILL only.
void EndProgram(pid_t pid, int signal);

}  // namespace weft::net
