// SPDX-License-Identifier: Apache-2.0
#include "apps/files/replace_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "apps/files/descriptor.h"

namespace weft::apps {
namespace {

int WriteSynced(const std::string& path, std::span<const std::span<const std::byte>> parts,
                FileCalls& calls) {
  const Descriptor file(calls.Open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  if (!file.open()) return errno;
  for (const std::span<const std::byte> part : parts) {
    if (const int error = WriteFully(file.get(), part, calls); error != 0) return error;
  }
  return calls.Sync(file.get()) == 0 ? 0 : errno;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Status CheckPlace(const std::string& path) {
  std::error_code ignored;
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidInput("cannot write " + path + ": " + what);
  };
  if (path.empty()) return wrong("the name is empty");
  if (std::filesystem::is_directory(path, ignored)) return wrong("that is a folder");
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  const std::string folder = above.empty() ? "." : above.string();
  if (!std::filesystem::is_directory(folder, ignored)) return wrong(folder + " is not a folder");
  if (access(folder.c_str(), W_OK) != 0) {
    return wrong(std::system_category().message(errno) + " in " + folder);
  }
  return Status::Ok();
}

int FileCalls::Open(const std::string& path, int flags) { return open(path.c_str(), flags, 0666); }

ssize_t FileCalls::Write(int fd, std::span<const std::byte> bytes) {
  return write(fd, bytes.data(), bytes.size());
}

int FileCalls::Sync(int fd) { return fsync(fd); }

int FileCalls::SyncData(int fd) { return fdatasync(fd); }

int FileCalls::Truncate(int fd, uint64_t bytes) { return ftruncate(fd, static_cast<off_t>(bytes)); }

int FileCalls::Rename(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str());
}

int FileCalls::Remove(const std::string& path) { return unlink(path.c_str()); }

int WriteFully(int fd, std::span<const std::byte> bytes, FileCalls& calls) {
  constexpr size_t kMostAtOnce = 1 << 30;  // Linux writes a little less than 2 GiB in one call
  while (!bytes.empty()) {
    const ssize_t done = calls.Write(fd, bytes.first(std::min(bytes.size(), kMostAtOnce)));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) return EIO;
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return 0;
}

int SyncFolder(const std::string& folder, FileCalls& calls) {
  const Descriptor opened(calls.Open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open()) return errno;
  if (calls.Sync(opened.get()) == 0) return 0;
  return errno == EINVAL ? 0 : errno;  // a file system that has no such thing
}

Status ReplaceFile(const std::string& path, std::span<const std::span<const std::byte>> parts,
                   FileCalls& calls) {
  // The process id keeps two programs that write the same file from mixing their bytes.
  const std::string unfinished =
      path + "." + std::to_string(getpid()) + std::string(kUnfinishedSuffix);
  int error = WriteSynced(unfinished, parts, calls);
  if (error == 0 && calls.Rename(unfinished, path) != 0) error = errno;
  if (error != 0) {
    calls.Remove(unfinished);
    return Status::Unavailable("cannot write " + path + ": " +
                               std::generic_category().message(error) +
                               "; what was there before is untouched");
  }
  error = SyncFolder(FolderOf(path), calls);
  if (error == 0) return Status::Ok();
  return Status::Unavailable(
      "wrote " + path + ", but its folder could not be forced to the disk: " +
      std::generic_category().message(error) + "; a power cut may bring the old file back");
}

}  // namespace weft::apps
