// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/scratch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft::apps {
namespace {

constexpr const char* kMemory = "/dev/shm";

bool HasRoom(const char* folder, int64_t bytes) {
  struct statvfs facts = {};
  if (statvfs(folder, &facts) != 0 || access(folder, W_OK) != 0) return false;
  return static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize) >
         static_cast<double>(bytes);
}

// A quarter of what is free may go into files: the models themselves need the rest.
bool MemoryHasRoom(int64_t bytes) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  int64_t kilobytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:") file >> kilobytes;
  }
  return bytes < kilobytes * 1024 / 4 && HasRoom(kMemory, bytes);
}

}  // namespace

Result<std::unique_ptr<Scratch>> Scratch::Create(int64_t bytes) {
  std::error_code ignored;
  const std::string folder =
      MemoryHasRoom(bytes) ? kMemory : std::filesystem::temp_directory_path(ignored).string();
  std::string path = folder + "/weft-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Status::Unavailable("cannot make a folder in '" + folder +
                               "'; set TMPDIR to one that can be written");
  }
  std::unique_ptr<Scratch> scratch(new Scratch(path));
  if (Status status = scratch->StartCaretaker(); !status.ok()) return status;
  return scratch;
}

// Its stdin ends when nobody holds the other end any more.
Status Scratch::StartCaretaker() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::Unavailable("no pipe could be made");
  life_ = ends[1];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_WRONLY, 0);
  }
  // In a session of its own, out of the reach of Ctrl-C.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string words[] = {"sh", "-c", "read _; rm -rf -- \"$0\"", path_};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                             nullptr};
  const int error = posix_spawn(&caretaker_, "/bin/sh", &files, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  close(ends[0]);
  if (error != 0) {
    caretaker_ = -1;
    return Status::Unavailable("cannot start /bin/sh, which is to clean up in the end");
  }
  fcntl(life_, F_SETFD, 0);  // from here on programs inherit it
  return Status::Ok();
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (life_ >= 0) close(life_);
  if (caretaker_ < 0) return;
  while (waitpid(caretaker_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Scratch::Write(const std::string& name, const std::string& text) const {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path(), ignored);
  std::ofstream file(Path(name), std::ios::trunc);
  file << text;
  file.close();
  if (file) return Status::Ok();
  return Status::Unavailable("cannot write '" + Path(name) + "'; is the disk full?");
}

void Scratch::Remove(const std::string& name) const {
  std::error_code ignored;
  std::filesystem::remove_all(Path(name), ignored);
}

}  // namespace weft::apps
