// SPDX-License-Identifier: Apache-2.0
// A server's journal as a file that only grows. All numbers are little-endian:
//
//   8 bytes   "weftjrnl"
//   4 + 4     format version, and its complement
//   8         round that the checkpoint it follows is at the beginning of
//   8         number of that checkpoint
//   8 + 8     number of the checkpoint before, and how many records lie between the two
//   4         checksum
//
// and then records:
//
//   8         bytes of the record, all of it
//   8         round
//   8 + 8     begin and end of the slice, in floats
//   4 + 4     number of contributions, and their bytes
//   ...       each contribution: 4 weight, 4 bytes of the worker's name, the name
//   ...       the mean, as floats
//   4         checksum
//
// A checksum is the CRC-32C of what is before it in its record, going on from the checksum before:
// a record fits only in its own place of its own file. The first 16 bytes are the same in every
// version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/files/descriptor.h"
#include "apps/files/file_reader.h"
#include "apps/files/replace_file.h"
#include "cloud_ps/keeper.h"
#include "core/status.h"

namespace weft::apps {

// Which checkpoint a journal goes on from, and whether the journals since the one before lead to
// it, too.
struct JournalStart {
  static constexpr uint64_t kRecordsMissing = UINT64_MAX;

  int64_t round = 0;
  uint64_t checkpoint = 0;
  uint64_t before_checkpoint = 0;
  uint64_t before_records = kRecordsMissing;  // not all of what happened between is in journals

  friend bool operator==(const JournalStart&, const JournalStart&) = default;
};

// How far a journal is good, and where writing goes on.
struct JournalTail {
  uint64_t bytes = 0;
  uint64_t records = 0;
  uint32_t checksum = 0;
};

// Thread: one at a time. `calls` must outlive it. After a failure of Append or Sync nobody knows
// what is in the file behind the last Sync that succeeded; it must not be written any more.
class JournalWriter {
 public:
  // A new journal in the place of whatever was there. Unavailable: the disk does not allow it, and
  // no record is there that would not have been there without this call.
  static Result<JournalWriter> Create(const std::string& path, const JournalStart& start,
                                      FileCalls& calls);
  // Goes on behind `tail`, which a reader has found. What is there behind it is cut off, for good.
  static Result<JournalWriter> Continue(const std::string& path, const JournalTail& tail,
                                        FileCalls& calls);

  // Writes a record, which is safe only after Sync. Unavailable: the disk is full or broken.
  Status Append(const ps::JournalRecord& record);
  Status Sync();

  uint64_t records() const { return tail_.records; }

 private:
  JournalWriter(std::string path, Descriptor file, const JournalTail& tail, FileCalls& calls)
      : path_(std::move(path)), file_(std::move(file)), tail_(tail), calls_(&calls) {}

  static Result<JournalWriter> Open(const std::string& path, const JournalTail& tail,
                                    FileCalls& calls);

  std::string path_;
  Descriptor file_;
  JournalTail tail_;
  FileCalls* calls_;
  std::vector<std::byte> front_;  // of the record being written; kept for its memory
};

// Thread: one at a time.
class JournalReader {
 public:
  // For a server's part of `floats`. NotFound, or Unavailable: it cannot be read. InvalidInput: it
  // is of a newer weft. A file that is damaged from its beginning is a journal without a start.
  static Result<JournalReader> Open(const std::string& path, int64_t floats);

  const std::string& path() const { return file_.path(); }
  const std::optional<JournalStart>& start() const { return start_; }

  // The next record, whose mean is valid until the next call; none at the end, and at the first
  // one that is cut off or changed. Unavailable: the disk fails.
  Result<std::optional<ps::JournalRecord>> Next();

  // Behind the records that Next has given.
  const JournalTail& tail() const { return tail_; }
  // Bytes behind the tail: of a journal read to its end, those that were cut off or changed.
  uint64_t dropped_bytes() const { return file_.size() - tail_.bytes; }

 private:
  JournalReader(FileReader file, int64_t floats) : file_(std::move(file)), floats_(floats) {}

  Status ReadStart();

  FileReader file_;
  int64_t floats_;
  std::optional<JournalStart> start_;
  JournalTail tail_;
  bool ended_ = false;
  std::vector<std::byte> contributions_;  // of the record being read
  std::vector<float> mean_;
};

}  // namespace weft::apps
