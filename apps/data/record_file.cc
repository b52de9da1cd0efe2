// SPDX-License-Identifier: Apache-2.0
#include "apps/data/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::apps {
namespace {

// The largest set in use is a sixth of it; a file that unpacks to more is not what it says.
constexpr size_t kMostUnpacked = size_t{1} << 30;
constexpr unsigned kStep = 1 << 20;  // unpacked at a time

Status CannotRead(const std::string& path, int error) {
  const std::string sentence = "cannot read " + path + ": " + std::strerror(error);
  return error == ENOENT ? Status::NotFound(sentence) : Status::Unavailable(sentence);
}

}  // namespace

Result<RecordFile> RecordFile::Open(const std::string& path) {
  RecordFile file(path);
  const Status status = path.ends_with(".gz") ? file.Unpack() : file.OpenPlain();
  if (!status.ok()) return status;
  return file;
}

RecordFile::~RecordFile() {
  if (file_ >= 0) close(file_);
}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : path_(std::move(other.path_)),
      size_(other.size_),
      file_(std::exchange(other.file_, -1)),
      unpacked_(std::move(other.unpacked_)) {}

Status RecordFile::OpenPlain() {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) return CannotRead(path_, errno);
  struct stat facts;
  if (fstat(file_, &facts) != 0) return CannotRead(path_, errno);
  if (!S_ISREG(facts.st_mode)) return Status::InvalidInput(path_ + " is not a file");
  size_ = facts.st_size;
  return Status::Ok();
}

Status RecordFile::Unpack() {
  errno = 0;  // zlib leaves it alone when it runs out of memory
  const gzFile packed = gzopen(path_.c_str(), "rbe");
  if (packed == nullptr) return CannotRead(path_, errno != 0 ? errno : ENOMEM);
  int got = 0;
  do {
    const size_t before = unpacked_.size();
    unpacked_.resize(before + kStep);
    got = gzread(packed, unpacked_.data() + before, kStep);
    unpacked_.resize(before + static_cast<size_t>(std::max(got, 0)));
  } while (got > 0 && unpacked_.size() <= kMostUnpacked);
  const bool failed = gzclose(packed) != Z_OK || got < 0;  // closing tells of a file cut short
  if (unpacked_.size() > kMostUnpacked) {
    return Status::InvalidInput(path_ +
                                " unpacks to more than a gigabyte; unpack it by hand and "
                                "leave out the .gz");
  }
  if (failed) {
    return Status::InvalidInput(path_ +
                                " is damaged or cut short: it does not unpack; fetch it "
                                "again");
  }
  unpacked_.shrink_to_fit();
  size_ = static_cast<int64_t>(unpacked_.size());
  return Status::Ok();
}

Status RecordFile::Read(int64_t offset, std::span<uint8_t> bytes) const {
  const int64_t end = offset + static_cast<int64_t>(bytes.size());
  const auto cut_short = [&] {
    return Status::InvalidInput(path_ + " ends before byte " + std::to_string(end));
  };
  if (file_ < 0) {
    if (end > size_) return cut_short();
    std::copy_n(unpacked_.begin() + offset, bytes.size(), bytes.begin());
    return Status::Ok();
  }
  while (!bytes.empty()) {
    const ssize_t got = pread(file_, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path_, errno);
    if (got == 0) return cut_short();
    offset += got;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return Status::Ok();
}

}  // namespace weft::apps
