// SPDX-License-Identifier: Apache-2.0
#include "tests/edge/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace weft::apps {

namespace {

std::vector<std::string> CommandOf(const char* program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command;
  std::istringstream words(program);
  for (std::string word; std::getline(words, word, '|');) command.push_back(word);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

// CMakeLists.txt sets both: words with '|' between them.
std::vector<std::string> EdgeCommand(const std::vector<std::string>& arguments) {
  return CommandOf(WEFT_EDGE, arguments);
}

std::vector<std::string> PsCommand(const std::vector<std::string>& arguments) {
  return CommandOf(WEFT_PS, arguments);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  out_ = ends[0];
}

ChildProcess::~ChildProcess() {
  Kill();
  close(out_);
}

std::optional<std::string> ChildProcess::NextLine(int patience_s) {
  while (true) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{.fd = out_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 1000 * patience_s) <= 0) return std::nullopt;
    char buffer[4096];
    const ssize_t size = read(out_, buffer, sizeof(buffer));
    if (size <= 0) return std::nullopt;
    read_.append(buffer, static_cast<size_t>(size));
  }
}

int ChildProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

bool ChildProcess::Kill() {
  if (pid_ < 0) return false;
  kill(pid_, SIGKILL);
  const int status = Reap();
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int ChildProcess::Wait() {
  while (NextLine()) {
  }
  const int status = Reap();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace weft::apps
