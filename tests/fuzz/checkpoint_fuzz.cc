// SPDX-License-Identifier: Apache-2.0
// Any file is read as the checkpoint or the journal it is, or found damaged; never a crash, never
// more memory than the file has bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "apps/files/checkpoint_file.h"
#include "apps/files/journal_file.h"
#include "core/crc32c.h"
#include "tests/fuzz/fuzz_target.h"

namespace weft::apps {
namespace {

// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : fd_(memfd_create("fuzz", 0)) {
    MustHold(fd_ >= 0, "there is a file");
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = write(fd_, bytes.data() + done, bytes.size() - done);
      MustHold(written > 0, "it can be written");
      done += static_cast<size_t>(written);
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

void TryCheckpoint(std::span<const std::byte> bytes) {
  const MemoryFile memory(bytes);
  const CheckpointFile file = CheckpointFile::Open(memory.path());
  if (file.state() != CheckpointFile::State::kPlausible) {
    MustHold(!file.sentence().empty(), "it says what is wrong");
    return;
  }
  const bool whole = file.Verify().ok();
  const auto read = file.Read();
  MustHold(whole == read.ok(), "it is whole both times or never");
  if (!read.ok()) return;
  size_t sum = 0;
  for (const auto part : read->parts) sum += part.size();
  MustHold(sum <= bytes.size(), "its parts are in it");
}

void TryJournal(std::span<const std::byte> bytes) {
  const MemoryFile memory(bytes);
  auto reader = JournalReader::Open(memory.path(), 64);
  if (!reader.ok()) return;
  uint64_t records = 0;
  while (true) {
    const auto record = reader->Next();
    MustHold(record.ok(), "memory does not fail");
    if (!record->has_value()) break;
    ++records;
    const ps::JournalRecord& r = **record;
    MustHold(r.slice.begin >= 0 && r.slice.begin <= r.slice.end && r.slice.end <= 64,
             "a slice is in the model");
    MustHold(static_cast<int64_t>(r.mean.size()) == r.slice.size(), "and has its mean");
    MustHold(reader->tail().records == records, "records are counted");
  }
  MustHold(reader->tail().bytes <= bytes.size(), "the tail is in the file");
}

// The first half of the input is changed so that its checksums fit: the start's, then those of as
// many records as there are.
std::vector<std::byte> WithChecksums(std::span<const std::byte> bytes) {
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  constexpr size_t kStart = 48;
  constexpr size_t kFront = 40;
  if (file.size() < kStart + 4) return file;
  const auto set = [&](size_t at, uint32_t crc) { std::memcpy(file.data() + at, &crc, 4); };
  uint32_t crc = Crc32cByTable(std::span(file).first(kStart));
  set(kStart, crc);
  for (size_t at = kStart + 4; at + kFront + 4 <= file.size();) {
    uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof(length));
    if (length < kFront + 4 || length > file.size() - at) break;
    crc = Crc32cByTable(std::span(file).subspan(at, static_cast<size_t>(length) - 4), crc);
    at += static_cast<size_t>(length);
    set(at - 4, crc);
  }
  return file;
}

}  // namespace
}  // namespace weft::apps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span<const uint8_t>(data, size));
  weft::apps::TryCheckpoint(bytes);
  weft::apps::TryJournal(bytes);
  weft::apps::TryJournal(weft::apps::WithChecksums(bytes));
  return 0;
}
