// SPDX-License-Identifier: Apache-2.0
#include "apps/files/journal_file.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "core/crc32c.h"

namespace weft::apps {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr char kJournalMagic[8] = {'w', 'e', 'f', 't', 'j', 'r', 'n', 'l'};
constexpr uint32_t kJournalVersion = 1;
constexpr size_t kJournalVersionEnd = 16;  // magic, version and complement

// More than any fleet's names; a record that claims more is damaged.
constexpr uint32_t kMostContributionBytes = 16 << 20;

struct FileFront {
  char magic[8];
  uint32_t version;
  uint32_t version_complement;
  int64_t round;
  uint64_t checkpoint;
  uint64_t before_checkpoint;
  uint64_t before_records;
};
static_assert(sizeof(FileFront) == 48);

struct RecordFront {
  uint64_t bytes;
  int64_t round;
  int64_t begin;
  int64_t end;
  uint32_t contributions;
  uint32_t contribution_bytes;
};
static_assert(sizeof(RecordFront) == 40);

struct ContributionFront {
  uint32_t weight;
  uint32_t name_bytes;
};
static_assert(sizeof(ContributionFront) == 8);

constexpr size_t kStartBytes = sizeof(FileFront) + sizeof(uint32_t);
constexpr uint64_t kLeastRecordBytes = sizeof(RecordFront) + sizeof(uint32_t);

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <typename T>
std::span<std::byte> BytesInto(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Status CannotWrite(const std::string& path, int error) {
  return Status::Unavailable("cannot write " + path + ": " +
                             std::generic_category().message(error));
}

// Whether a record may look like this where `left` bytes are left of the file.
bool IsPlausible(const RecordFront& front, uint64_t left, int64_t floats) {
  if (front.begin < 0 || front.end < front.begin || front.end > floats) return false;
  if (front.contribution_bytes > kMostContributionBytes) return false;
  if (front.contributions > front.contribution_bytes / sizeof(ContributionFront)) return false;
  const uint64_t mean_bytes = static_cast<uint64_t>(front.end - front.begin) * sizeof(float);
  return front.bytes == kLeastRecordBytes + front.contribution_bytes + mean_bytes &&
         front.bytes <= left;
}

// `count` contributions that are all of `bytes`; nothing if they are not.
std::optional<std::vector<ps::Contribution>> ReadContributions(uint32_t count,
                                                               std::span<const std::byte> bytes) {
  std::vector<ps::Contribution> contributions;
  for (uint32_t i = 0; i < count; ++i) {
    ContributionFront front;
    if (bytes.size() < sizeof(front)) return std::nullopt;
    std::memcpy(&front, bytes.data(), sizeof(front));
    bytes = bytes.subspan(sizeof(front));
    if (bytes.size() < front.name_bytes) return std::nullopt;
    contributions.push_back(
        {std::string(reinterpret_cast<const char*>(bytes.data()), front.name_bytes), front.weight});
    bytes = bytes.subspan(front.name_bytes);
  }
  if (!bytes.empty()) return std::nullopt;
  return contributions;
}

}  // namespace

Result<JournalWriter> JournalWriter::Create(const std::string& path, const JournalStart& start,
                                            FileCalls& calls) {
  FileFront front = {.magic = {},
                     .version = kJournalVersion,
                     .version_complement = ~kJournalVersion,
                     .round = start.round,
                     .checkpoint = start.checkpoint,
                     .before_checkpoint = start.before_checkpoint,
                     .before_records = start.before_records};
  std::copy(std::begin(kJournalMagic), std::end(kJournalMagic), front.magic);
  const uint32_t checksum = Crc32c(BytesOf(front));
  const std::span<const std::byte> parts[] = {BytesOf(front), BytesOf(checksum)};
  if (Status status = ReplaceFile(path, parts, calls); !status.ok()) return status;
  return Open(path, {.bytes = kStartBytes, .records = 0, .checksum = checksum}, calls);
}

Result<JournalWriter> JournalWriter::Continue(const std::string& path, const JournalTail& tail,
                                              FileCalls& calls) {
  Result<JournalWriter> writer = Open(path, tail, calls);
  if (!writer.ok()) return writer;
  // On the disk before anything is written: else what is cut off could come back behind it.
  const int fd = writer->file_.get();
  if (calls.Truncate(fd, tail.bytes) != 0 || calls.Sync(fd) != 0) return CannotWrite(path, errno);
  return writer;
}

Result<JournalWriter> JournalWriter::Open(const std::string& path, const JournalTail& tail,
                                          FileCalls& calls) {
  Descriptor file(calls.Open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!file.open()) return CannotWrite(path, errno);
  return JournalWriter(path, std::move(file), tail, calls);
}

Status JournalWriter::Append(const ps::JournalRecord& record) {
  assert(std::ssize(record.mean) == record.slice.size());
  front_.resize(sizeof(RecordFront));
  const auto add = [&](std::span<const std::byte> bytes) {
    front_.insert(front_.end(), bytes.begin(), bytes.end());
  };
  for (const ps::Contribution& contribution : record.contributions) {
    add(BytesOf(
        ContributionFront{contribution.weight, static_cast<uint32_t>(contribution.worker.size())}));
    add(std::as_bytes(std::span(contribution.worker)));
  }
  const size_t contribution_bytes = front_.size() - sizeof(RecordFront);
  assert(contribution_bytes <= kMostContributionBytes);
  const std::span<const std::byte> mean = std::as_bytes(record.mean);
  const RecordFront front = {.bytes = uint64_t{front_.size()} + mean.size() + sizeof(uint32_t),
                             .round = record.round,
                             .begin = record.slice.begin,
                             .end = record.slice.end,
                             .contributions = static_cast<uint32_t>(record.contributions.size()),
                             .contribution_bytes = static_cast<uint32_t>(contribution_bytes)};
  std::memcpy(front_.data(), &front, sizeof(front));
  const uint32_t checksum = Crc32c(mean, Crc32c(front_, tail_.checksum));

  for (const std::span<const std::byte> part :
       {std::span<const std::byte>(front_), mean, BytesOf(checksum)}) {
    if (const int error = WriteFully(file_.get(), part, *calls_); error != 0) {
      return CannotWrite(path_, error);
    }
  }
  tail_ = {tail_.bytes + front.bytes, tail_.records + 1, checksum};
  return Status::Ok();
}

Status JournalWriter::Sync() {
  return calls_->SyncData(file_.get()) == 0 ? Status::Ok() : CannotWrite(path_, errno);
}

Result<JournalReader> JournalReader::Open(const std::string& path, int64_t floats) {
  Result<FileReader> file = FileReader::Open(path);
  if (!file.ok()) return file.status();
  JournalReader reader(std::move(file).value(), floats);
  if (Status status = reader.ReadStart(); !status.ok()) return status;
  return reader;
}

Status JournalReader::ReadStart() {
  ended_ = true;  // unless the start is good
  std::byte bytes[kStartBytes] = {};
  const size_t length = static_cast<size_t>(std::min<uint64_t>(file_.size(), kStartBytes));
  if (length < kJournalVersionEnd) return Status::Ok();
  if (Status status = file_.ReadAt(0, std::span(bytes).first(length)); !status.ok()) return status;
  FileFront front;
  std::memcpy(&front, bytes, sizeof(front));
  if (!std::equal(std::begin(kJournalMagic), std::end(kJournalMagic), front.magic) ||
      front.version_complement != ~front.version || front.version == 0) {
    return Status::Ok();
  }
  if (front.version > kJournalVersion) {
    return Status::InvalidInput(path() + " was written by a newer weft (format " +
                                std::to_string(front.version) + ", this one knows " +
                                std::to_string(kJournalVersion) +
                                "); update weft or move the file away");
  }
  uint32_t checksum = 0;
  std::memcpy(&checksum, bytes + sizeof(front), sizeof(checksum));
  if (length < kStartBytes || checksum != Crc32c(BytesOf(front))) return Status::Ok();
  start_ = JournalStart{.round = front.round,
                        .checkpoint = front.checkpoint,
                        .before_checkpoint = front.before_checkpoint,
                        .before_records = front.before_records};
  tail_ = {.bytes = kStartBytes, .records = 0, .checksum = checksum};
  ended_ = false;
  return Status::Ok();
}

Result<std::optional<ps::JournalRecord>> JournalReader::Next() {
  using Answer = std::optional<ps::JournalRecord>;
  const uint64_t left = dropped_bytes();
  if (ended_ || left < kLeastRecordBytes) return Answer();
  ended_ = true;  // unless the record is good
  uint64_t at = tail_.bytes;
  const auto read = [&](std::span<std::byte> into) {
    const Status status = file_.ReadAt(at, into);
    at += into.size();
    return status;
  };
  RecordFront front;
  if (Status status = read(BytesInto(front)); !status.ok()) return status;
  if (!IsPlausible(front, left, floats_)) return Answer();

  contributions_.resize(front.contribution_bytes);
  mean_.resize(static_cast<size_t>(front.end - front.begin));
  const std::span<std::byte> mean = std::as_writable_bytes(std::span(mean_));
  uint32_t written = 0;
  for (const std::span<std::byte> part :
       {std::span<std::byte>(contributions_), mean, BytesInto(written)}) {
    if (Status status = read(part); !status.ok()) return status;
  }
  const uint32_t checksum =
      Crc32c(mean, Crc32c(contributions_, Crc32c(BytesOf(front), tail_.checksum)));
  if (checksum != written) return Answer();
  Answer record =
      ps::JournalRecord{.round = front.round, .slice = {front.begin, front.end}, .mean = mean_};
  std::optional<std::vector<ps::Contribution>> contributions =
      ReadContributions(front.contributions, contributions_);
  if (!contributions) return Answer();
  record->contributions = std::move(*contributions);
  tail_ = {at, tail_.records + 1, checksum};
  ended_ = false;
  return record;
}

}  // namespace weft::apps
