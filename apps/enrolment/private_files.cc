// SPDX-License-Identifier: Apache-2.0
#include "apps/enrolment/private_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "apps/files/file_reader.h"

namespace weft::apps {
namespace {

Status CannotMake(const std::string& path, int error) {
  return Status::Unavailable("cannot make " + path + ": " + std::generic_category().message(error) +
                             (error == EACCES || error == EPERM ? "; run this as root" : ""));
}

}  // namespace

std::optional<Owner> OwnerNamed(const std::string& user) {
  if (geteuid() != 0) return std::nullopt;
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) return std::nullopt;
  return Owner{.user = entry->pw_uid, .group = entry->pw_gid};
}

std::optional<Owner> OwnerOf(const std::string& path) {
  struct stat facts {};
  if (geteuid() != 0 || stat(path.c_str(), &facts) != 0) return std::nullopt;
  return Owner{.user = facts.st_uid, .group = facts.st_gid};
}

int PrivateCalls::Open(const std::string& path, int flags) {
  if ((flags & O_CREAT) == 0) return FileCalls::Open(path, flags);
  unlink(path.c_str());  // what a killed run of the same process id left
  const int fd = open(path.c_str(), flags | O_EXCL, 0600);
  if (fd < 0) return fd;
  if (fchmod(fd, 0600) == 0 && (!owner_ || fchown(fd, owner_->user, owner_->group) == 0)) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

Status WritePrivate(const std::string& path, const std::string& content,
                    std::optional<Owner> owner) {
  PrivateCalls calls(owner);
  const std::span<const std::byte> part = std::as_bytes(std::span(content));
  return ReplaceFile(path, std::span(&part, 1), calls);
}

Status MakeFolder(const std::string& path, mode_t mode, std::optional<Owner> owner) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return Status::Ok();
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) {
    if (Status status = MakeFolder(parent.string(), 0755, std::nullopt); !status.ok()) {
      return status;
    }
  }
  // Made for ourselves alone; opened to others, or given away, once it is as it should be.
  if (mkdir(path.c_str(), 0700) != 0) return CannotMake(path, errno);
  if (chmod(path.c_str(), mode) != 0 ||
      (owner && chown(path.c_str(), owner->user, owner->group) != 0)) {
    return CannotMake(path, errno);
  }
  FileCalls calls;
  if (const int failed = SyncFolder(parent.empty() ? "." : parent.string(), calls); failed != 0) {
    return CannotMake(path, failed);
  }
  return Status::Ok();
}

bool AnyoneMayRead(const std::string& path) {
  using std::filesystem::perms;
  const auto allows = [](const std::filesystem::path& place, perms wanted) {
    std::error_code error;
    return (std::filesystem::status(place, error).permissions() & wanted) == wanted && !error;
  };
  std::error_code error;
  std::filesystem::path place = std::filesystem::canonical(path, error);
  if (error || !allows(place, perms::others_read)) return false;
  while (place.has_relative_path()) {
    place = place.parent_path();
    if (!allows(place, perms::others_exec)) return false;
  }
  return true;
}

Result<std::string> ReadSmallFile(const std::string& path, size_t most_bytes) {
  const Result<FileReader> file = FileReader::Open(path);
  if (!file.ok()) return file.status();
  if (file->size() > most_bytes) {
    return Status::InvalidInput(path + " has more than " + std::to_string(most_bytes) + " bytes");
  }
  std::string content(file->size(), '\0');
  if (Status status = file->ReadAt(0, std::as_writable_bytes(std::span(content))); !status.ok()) {
    return status;
  }
  return content;
}

}  // namespace weft::apps
