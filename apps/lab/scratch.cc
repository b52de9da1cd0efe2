// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/scratch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "boards/cgroup_limit.h"

namespace weft::apps {
namespace {

constexpr const char* kMemory = "/dev/shm";

int64_t FreeBytes(const std::string& folder) {
  struct statvfs facts = {};
  if (statvfs(folder.c_str(), &facts) != 0 || access(folder.c_str(), W_OK) != 0) return 0;
  return static_cast<int64_t>(facts.f_bavail) * static_cast<int64_t>(facts.f_frsize);
}

int64_t FreeMemory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  int64_t kilobytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:") file >> kilobytes;
  }
  const int64_t limit = boards::CgroupMemoryLimit("");
  return limit == 0 ? kilobytes * 1024 : std::min(limit, kilobytes * 1024);
}

}  // namespace

Scratch::Room Scratch::RoomHere() {
  std::error_code ignored;
  const std::string folder = std::filesystem::temp_directory_path(ignored).string();
  return {.memory_bytes = FreeMemory(),
          .shared_bytes = FreeBytes(kMemory),
          .folder = folder,
          .folder_bytes = FreeBytes(folder)};
}

bool Scratch::InMemory(const Room& room, int64_t bytes, int64_t beside) {
  return bytes < room.memory_bytes / 4 && bytes < room.memory_bytes - beside &&
         bytes < room.shared_bytes;
}

Result<std::unique_ptr<Scratch>> Scratch::Create(int64_t bytes, int64_t beside) {
  const Room room = RoomHere();
  const std::string folder = InMemory(room, bytes, beside) ? kMemory : room.folder;
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
