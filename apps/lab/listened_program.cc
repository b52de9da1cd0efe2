// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/listened_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/clock.h"

namespace weft::apps {
namespace {

// A program that never ends its line does not fill our memory.
constexpr size_t kLongestLine = 1 << 20;

}  // namespace

Result<std::unique_ptr<ListenedProgram>> ListenedProgram::Start(
    const std::vector<std::string>& words, const net::NetworkNamespace* place) {
  std::unique_ptr<ListenedProgram> listened(new ListenedProgram());
  int ends[2][2] = {{-1, -1}, {-1, -1}};
  const bool piped = pipe2(ends[0], O_CLOEXEC) == 0 && pipe2(ends[1], O_CLOEXEC) == 0;
  listened->out_.file = ends[0][0];
  listened->err_.file = ends[1][0];
  Result<std::unique_ptr<Program>> program = Status::Unavailable("no pipe could be made");
  if (piped) {
    for (const Stream* stream : {&listened->out_, &listened->err_}) {
      fcntl(stream->file, F_SETFL, O_NONBLOCK);
    }
    program =
        Program::Start({.words = words, .place = place, .out = ends[0][1], .err = ends[1][1]});
  }
  for (const auto& pair : ends) {
    if (pair[1] >= 0) close(pair[1]);
  }
  if (!program.ok()) return program.status();
  listened->program_ = std::move(program).value();
  return listened;
}

ListenedProgram::~ListenedProgram() {
  for (const Stream* stream : {&out_, &err_}) {
    if (stream->file >= 0) close(stream->file);
  }
}

std::vector<int> ListenedProgram::Files() const {
  return {out_.file, err_.file, program_->ended_file()};
}

void ListenedProgram::ReadFrom(Stream& stream) {
  char buffer[16'384];
  while (stream.file >= 0) {
    const ssize_t size = read(stream.file, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      close(stream.file);
      stream.file = -1;
      if (!stream.half.empty()) stream.lines.push_back(std::exchange(stream.half, {}));
      return;
    }
    const std::string_view text(buffer, static_cast<size_t>(size));
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      stream.lines.push_back(std::exchange(stream.half, {}));
      stream.lines.back() += text.substr(begin, end - begin);
    }
    if (stream.half.size() < kLongestLine) stream.half += text.substr(begin);
  }
}

void ListenedProgram::Read() {
  ReadFrom(out_);
  ReadFrom(err_);
  for (const std::string& line : err_.lines) {
    if (!line.empty()) last_said_ = line;
  }
}

std::vector<std::string> ListenedProgram::Take(Stream& stream) {
  return std::exchange(stream.lines, {});
}

void ListenedProgram::EndAll(const std::vector<ListenedProgram*>& programs, int64_t grace_ms) {
  for (const ListenedProgram* program : programs) program->Signal(SIGTERM);
  const SteadyClock clock;
  const int64_t deadline_ns = clock.NowNs() + grace_ms * 1'000'000;
  for (ListenedProgram* program : programs) {
    // Nobody reads any more; that must not hold it up.
    for (Stream* stream : {&program->out_, &program->err_}) {
      if (stream->file >= 0) close(std::exchange(stream->file, -1));
    }
    const int64_t left_ms = std::max<int64_t>(0, (deadline_ns - clock.NowNs()) / 1'000'000);
    if (program->program_->Wait(left_ms)) continue;
    program->Signal(SIGKILL);
    program->program_->Wait(10'000);
  }
}

}  // namespace weft::apps
