// SPDX-License-Identifier: Apache-2.0
#include "apps/files/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>

namespace weft::apps {
namespace {

Status CannotRead(const std::string& path, const std::string& why) {
  return Status::Unavailable("cannot read " + path + ": " + why);
}

}  // namespace

Result<FileReader> FileReader::Open(const std::string& path) {
  // Non-blocking: a pipe in the file's place must not make us wait.
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) {
    if (errno == ENOENT || errno == ENOTDIR) return Status::NotFound("there is no file " + path);
    return CannotRead(path, std::generic_category().message(errno));
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) {
    return CannotRead(path, std::generic_category().message(errno));
  }
  if (!S_ISREG(info.st_mode)) return CannotRead(path, "it is not a regular file");
  return FileReader(path, std::move(file), static_cast<uint64_t>(info.st_size));
}

Status FileReader::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  assert(offset <= size_ && out.size() <= size_ - offset);
  constexpr size_t kMostAtOnce = 1 << 30;  // Linux reads a little less than 2 GiB in one call
  while (!out.empty()) {
    const ssize_t got = pread(file_.get(), out.data(), std::min(out.size(), kMostAtOnce),
                              static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path_, std::generic_category().message(errno));
    if (got == 0) return CannotRead(path_, "it has become shorter while it was being read");
    offset += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return Status::Ok();
}

}  // namespace weft::apps
