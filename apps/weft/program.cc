// SPDX-License-Identifier: Apache-2.0
#include "apps/weft/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>

namespace weft::apps {

namespace {

// In the child: only what is safe between fork and exec. Returns if it fails, with errno.
void Become(const Program::Spec& spec, char* const* words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before we asked
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (spec.place != nullptr && !spec.place->Enter()) return;
  if (spec.out >= 0 && dup2(spec.out, STDOUT_FILENO) < 0) return;
  if (spec.err >= 0 && dup2(spec.err, STDERR_FILENO) < 0) return;
  execvp(words[0], words);
}

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::Start(const Spec& spec) {
  assert(!spec.words.empty());
  std::vector<char*> words;
  for (const std::string& word : spec.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int failure[2];  // closed by exec, or told why there was none
  if (pipe2(failure, O_CLOEXEC) != 0) return Status::Unavailable("no pipe could be made");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    Become(spec, words.data(), parent);
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(failure[1], &error, sizeof(error));
    _exit(127);
  }
  close(failure[1]);
  int error = pid < 0 ? errno : 0;
  if (pid >= 0) {
    while (read(failure[0], &error, sizeof(error)) < 0 && errno == EINTR) {
    }
  }
  close(failure[0]);
  // By number: glibc 2.36 declares pidfd_open for C only.
  const int ended_file =
      pid >= 0 && error == 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (ended_file < 0) {
    if (pid >= 0) {
      kill(pid, SIGKILL);
      Reap(pid);
    }
    return Status::InvalidInput("'" + spec.words[0] + "' cannot be started: " +
                                std::generic_category().message(error != 0 ? error : errno));
  }
  return std::unique_ptr<Program>(new Program(pid, ended_file));
}

Program::~Program() {
  Signal(SIGKILL);
  if (!exit_code_) Reap(pid_);
  close(ended_file_);
}

void Program::Signal(int number) const {
  if (!exit_code_) kill(pid_, number);
}

std::optional<int> Program::Wait(int64_t timeout_ms) {
  pollfd ended{.fd = ended_file_, .events = POLLIN, .revents = 0};
  if (!exit_code_ &&
      poll(&ended, 1, static_cast<int>(std::min<int64_t>(timeout_ms, 1 << 30))) > 0) {
    exit_code_ = Reap(pid_);
  }
  return exit_code_;
}

}  // namespace weft::apps
