// SPDX-License-Identifier: Apache-2.0
#include "tests/lab/running_weft.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace weft::apps {
namespace {

constexpr int kPatienceMs = 60'000;

std::string ReadProc(const std::string& pid, const char* name) {
  std::ifstream file("/proc/" + pid + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "PID (NAME) STATE PPID ..."; the name may have anything in it.
pid_t ParentOf(const std::string& stat) {
  const size_t end = stat.rfind(')');
  return end == std::string::npos || stat.size() < end + 4 ? -1 : std::atoi(&stat[end + 4]);
}

}  // namespace

ForeignProcess::ForeignProcess(pid_t pid)
    : pid_(pid),
      ended_file_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      command_(ReadProc(std::to_string(pid), "cmdline")) {
  std::replace(command_.begin(), command_.end(), '\0', ' ');
}

ForeignProcess::~ForeignProcess() {
  if (ended_file_ >= 0) close(ended_file_);
}

ForeignProcess::ForeignProcess(ForeignProcess&& other) noexcept
    : pid_(other.pid_),
      ended_file_(std::exchange(other.ended_file_, -1)),
      command_(std::move(other.command_)) {}

bool ForeignProcess::Ends() const {
  pollfd waiting{.fd = ended_file_, .events = POLLIN, .revents = 0};
  return ended_file_ < 0 || poll(&waiting, 1, kPatienceMs) > 0;
}

RunningWeft::RunningWeft(const std::vector<std::string>& arguments, const std::string& program) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Result<std::unique_ptr<ListenedProgram>> started = ListenedProgram::Start(words, nullptr);
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().message().c_str());
    std::abort();
  }
  program_ = std::move(started).value();
}

std::optional<std::string> RunningWeft::NextLine() {
  while (lines_.empty()) {
    std::vector<pollfd> files;
    for (const int file : program_->Files()) {
      files.push_back({.fd = file, .events = POLLIN, .revents = 0});
    }
    if (poll(files.data(), files.size(), kPatienceMs) <= 0) return std::nullopt;
    const bool ended = program_->exit_code().has_value();
    program_->Read();
    lines_ = program_->TakeOut();
    for (const std::string& line : program_->TakeErr()) err_ += line + "\n";
    if (ended && lines_.empty()) return std::nullopt;
  }
  std::string line = std::move(lines_.front());
  lines_.erase(lines_.begin());
  return line;
}

int RunningWeft::ExitCode() {
  while (NextLine()) {
  }
  return program_->exit_code().value_or(-1);
}

std::vector<ForeignProcess> RunningWeft::Children() const {
  std::vector<ForeignProcess> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (ParentOf(ReadProc(name, "stat")) != program_->pid()) continue;
    children.emplace_back(static_cast<pid_t>(std::stoi(name)));
  }
  return children;
}

ForeignProcess RunningWeft::Child(const std::string& words) const {
  for (ForeignProcess& child : Children()) {
    if (child.command().find(words) != std::string::npos) return std::move(child);
  }
  std::fprintf(stderr, "no child with '%s'\n", words.c_str());
  std::abort();
}

std::string RunningWeft::ScratchPath() const {
  for (const ForeignProcess& child : Children()) {
    const std::string flag = "mosquitto -c ";
    const size_t at = child.command().find(flag);
    if (at == std::string::npos) continue;
    const size_t begin = at + flag.size();
    const std::filesystem::path config(
        child.command().substr(begin, child.command().find(' ', begin) - begin));
    return config.parent_path().parent_path();
  }
  return "";
}

}  // namespace weft::apps
