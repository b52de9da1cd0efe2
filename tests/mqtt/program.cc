// SPDX-License-Identifier: Apache-2.0
#include "tests/mqtt/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace weft::net {

std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) +
                             ":/usr/sbin:/usr/local/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

pid_t StartProgram(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    // A socket it inherited would keep a connection open that the test believes closed.
    for (int other = STDERR_FILENO + 1; other < 1024; ++other) close(other);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  return pid;
}

namespace {

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

bool RunProgram(const std::vector<std::string>& words) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t pid = StartProgram(words, nowhere);
  close(nowhere);
  const int status = Reap(pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void EndProgram(pid_t pid, int signal) {
  kill(pid, signal);
  Reap(pid);
}

}  // namespace weft::net
