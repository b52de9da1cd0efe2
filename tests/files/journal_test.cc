// SPDX-License-Identifier: Apache-2.0
// A journal gives back what was written to it, or the beginning of that, whatever happens to it.
#include "apps/files/journal_file.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/rng.h"
#include "tests/files/failing_calls.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr int64_t kModelFloats = 20;
constexpr JournalStart kStart = {
    .round = 5, .checkpoint = 3, .before_checkpoint = 2, .before_records = 17};

// A record that owns its mean.
struct Kept {
  int64_t round = 0;
  net::FloatRange slice = {};
  std::vector<float> mean = {};
  std::vector<ps::Contribution> contributions = {};

  ps::JournalRecord Record() const {
    return {.round = round, .slice = slice, .mean = mean, .contributions = contributions};
  }
  friend bool operator==(const Kept& a, const Kept& b) {  // by bits, so that a NaN equals itself
    return a.round == b.round && a.slice == b.slice && a.mean.size() == b.mean.size() &&
           (a.mean.empty() ||
            std::memcmp(a.mean.data(), b.mean.data(), a.mean.size() * sizeof(float)) == 0) &&
           a.contributions == b.contributions;
  }
};

const std::vector<Kept> kRecords = {
    {5, {0, 3}, {1.5f, -2.0f, std::numeric_limits<float>::quiet_NaN()}, {{"edge-1", 32}}},
    {5, {3, 20}, std::vector<float>(17, 0.25f), {{"edge-1", 32}, {"", 0}, {"e2", 4'000'000'000u}}},
    {6, {0, 1}, {0.0f}, {}},
    {6, {1, 1}, {}, {{"edge-1", 1}}},
};

struct ReadBack {
  std::vector<Kept> records;
  uint64_t dropped_bytes = 0;
  JournalTail tail;
  std::optional<JournalStart> start;
};

ReadBack ReadJournal(const std::string& path, int64_t floats = kModelFloats) {
  Result<JournalReader> reader = JournalReader::Open(path, floats);
  CHECK_TEXT(reader.ok(), reader.status().message().c_str());
  ReadBack back;
  while (true) {
    const Result<std::optional<ps::JournalRecord>> next = reader->Next();
    CHECK_TEXT(next.ok(), next.status().message().c_str());
    if (!next->has_value()) break;
    const ps::JournalRecord& record = **next;
    back.records.push_back({record.round,
                            record.slice,
                            {record.mean.begin(), record.mean.end()},
                            record.contributions});
  }
  CHECK_FALSE(reader->Next()->has_value());  // and so it stays
  back.dropped_bytes = reader->dropped_bytes();
  back.tail = reader->tail();
  back.start = reader->start();
  return back;
}

// Writes records [first, last) of kRecords.
void AppendRecords(JournalWriter& writer, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) CHECK(writer.Append(kRecords[i].Record()).ok());
  CHECK(writer.Sync().ok());
}

bool IsPrefix(const std::vector<Kept>& records) {
  return records.size() <= kRecords.size() &&
         std::equal(records.begin(), records.end(), kRecords.begin());
}

// A journal with all of kRecords, and where each of them ends.
struct Written {
  Written() {
    JournalWriter writer = JournalWriter::Create(path, kStart, calls).value();
    ends.push_back(std::filesystem::file_size(path));
    for (size_t i = 0; i < kRecords.size(); ++i) {
      AppendRecords(writer, i, i + 1);
      ends.push_back(std::filesystem::file_size(path));
    }
  }

  FileCalls calls;
  ScratchFolder scratch;
  std::string path = scratch.Path("journal-5");
  std::vector<uint64_t> ends;  // [records + 1]
};

}  // namespace

TEST_GROUP(Journal){};

TEST(Journal, GivesBackWhatWasWritten) {
  const Written written;
  const ReadBack back = ReadJournal(written.path);
  CHECK(kRecords == back.records);
  CHECK(kStart == back.start);
  UNSIGNED_LONGLONGS_EQUAL(0, back.dropped_bytes);
  UNSIGNED_LONGLONGS_EQUAL(4, back.tail.records);
}

TEST(Journal, CopesWithInterruptedAndShortWrites) {
  const ScratchFolder scratch;
  HaltingCalls calls;
  JournalWriter writer = JournalWriter::Create(scratch.Path("journal-5"), kStart, calls).value();
  AppendRecords(writer, 0, kRecords.size());
  CHECK(kRecords == ReadJournal(scratch.Path("journal-5")).records);
}

TEST(Journal, CutOffAnywhereItIsAPrefix) {
  const Written written;
  const std::string intact = ReadAll(written.path);
  for (size_t length = 0; length <= intact.size(); ++length) {
    WriteAll(written.path, intact.substr(0, length));
    const ReadBack back = ReadJournal(written.path);
    size_t whole = 0;
    while (whole < kRecords.size() && written.ends[whole + 1] <= length) ++whole;
    CHECK(IsPrefix(back.records));
    LONGS_EQUAL(whole, back.records.size());
    CHECK_EQUAL(length >= written.ends[0], back.start.has_value());
    UNSIGNED_LONGLONGS_EQUAL(length - (back.start ? written.ends[whole] : 0), back.dropped_bytes);
  }
}

TEST(Journal, ChangedInAnyByteItIsThePrefixBeforeThat) {
  const Written written;
  const std::string intact = ReadAll(written.path);
  for (size_t at = 0; at < intact.size(); ++at) {
    for (const unsigned mask : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 255u}) {
      std::string changed = intact;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ mask);
      WriteAll(written.path, changed);
      const ReadBack back = ReadJournal(written.path);
      size_t whole = 0;
      while (whole < kRecords.size() && written.ends[whole + 1] <= at) ++whole;
      CHECK(IsPrefix(back.records));
      LONGS_EQUAL(whole, back.records.size());
      CHECK_EQUAL(at >= written.ends[0], back.start.has_value());
    }
  }
}

TEST(Journal, RandomDamageNeverMakesARecord) {
  const Written written;
  const std::string intact = ReadAll(written.path);
  Rng rng(31);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = intact;
    for (int64_t i = rng.Between(1, 8); i > 0; --i) {
      const auto at = static_cast<size_t>(rng.Between(0, std::ssize(changed) - 1));
      changed[at] = static_cast<char>(rng.Between(0, 255));
    }
    WriteAll(written.path, changed);
    CHECK(IsPrefix(ReadJournal(written.path).records));
  }
}

TEST(Journal, ARecordFitsInItsOwnPlaceOnly) {
  const Written written;
  const std::string intact = ReadAll(written.path);
  const auto piece = [&](size_t i) {
    return intact.substr(written.ends[i], written.ends[i + 1] - written.ends[i]);
  };
  const std::string start = intact.substr(0, written.ends[0]);
  WriteAll(written.path, start + piece(1) + piece(0));
  LONGS_EQUAL(0, ReadJournal(written.path).records.size());
  WriteAll(written.path, start + piece(0) + piece(0));
  LONGS_EQUAL(1, ReadJournal(written.path).records.size());
  JournalStart other = kStart;
  ++other.checkpoint;
  FileCalls calls;
  CHECK(JournalWriter::Create(written.path, other, calls).ok());
  WriteAll(written.path, ReadAll(written.path) + piece(0));
  LONGS_EQUAL(0, ReadJournal(written.path).records.size());
}

TEST(Journal, ZerosBehindTheEndAreNoRecords) {
  const Written written;
  const std::string intact = ReadAll(written.path);
  WriteAll(written.path, intact + std::string(5000, '\0'));  // what a power cut can leave
  const ReadBack back = ReadJournal(written.path);
  CHECK(kRecords == back.records);
  UNSIGNED_LONGLONGS_EQUAL(5000, back.dropped_bytes);
}

TEST(Journal, ARecordOutsideTheModelIsNotRead) {
  const Written written;
  const ReadBack back = ReadJournal(written.path, kModelFloats - 1);
  LONGS_EQUAL(1, back.records.size());
}

TEST(Journal, GoesOnBehindWhatWasGood) {
  const Written written;
  const std::string intact = ReadAll(written.path);
  for (size_t length = written.ends[0]; length <= intact.size(); length += 7) {
    for (const std::string& tail : {std::string(), std::string(100, 'x')}) {
      WriteAll(written.path, intact.substr(0, length) + tail);
      FileCalls calls;
      const ReadBack before = ReadJournal(written.path);
      JournalWriter writer = JournalWriter::Continue(written.path, before.tail, calls).value();
      UNSIGNED_LONGLONGS_EQUAL(before.records.size(), writer.records());
      AppendRecords(writer, before.records.size(), kRecords.size());
      CHECK(intact == ReadAll(written.path));
    }
  }
}

TEST(Journal, IsLeftAloneIfItIsOfANewerWeft) {
  const Written written;
  std::string newer = ReadAll(written.path);
  newer.replace(8, 8, std::string("\x02\0\0\0\xFD\xFF\xFF\xFF", 8));  // version and complement
  for (const std::string& content : {newer, newer.substr(0, 16)}) {
    WriteAll(written.path, content);
    const Status status = JournalReader::Open(written.path, kModelFloats).status();
    CHECK(status.code() == StatusCode::kInvalidInput);
    STRCMP_CONTAINS("was written by a newer weft (format 2, this one knows 1)",
                    status.message().c_str());
  }
}

TEST(Journal, SaysSoIfItIsNotThere) {
  const ScratchFolder scratch;
  CHECK(JournalReader::Open(scratch.Path("journal-1"), kModelFloats).status().code() ==
        StatusCode::kNotFound);
}

// F17
TEST(Journal, SurvivesAFailureOfEveryCall) {
  for (const int error : {ENOSPC, EIO}) {
    bool failed = true;
    int failures = 0;
    for (int failing = 0; failed; ++failing) {
      CHECK(failing < 100);
      const ScratchFolder scratch;
      const std::string path = scratch.Path("journal-5");
      OneFailingCall calls(failing, error);
      std::vector<Status> answers;
      size_t synced = 0;
      const auto answer = [&](const Status& status) {
        if (!status.ok()) answers.push_back(status);
        return status.ok();
      };
      Result<JournalWriter> writer = JournalWriter::Create(path, kStart, calls);
      if (answer(writer.status())) {
        for (const Kept& record : kRecords) {
          if (!answer(writer->Append(record.Record())) || !answer(writer->Sync())) break;
          ++synced;
        }
      }
      failed = calls.failed();
      LONGS_EQUAL(failed ? 1 : 0, answers.size());
      if (failed) {
        ++failures;
        CHECK(answers[0].code() == StatusCode::kUnavailable);
        STRCMP_CONTAINS(path.c_str(), answers[0].message().c_str());
      }
      if (!std::filesystem::exists(path)) continue;
      const ReadBack back = ReadJournal(path);
      CHECK(IsPrefix(back.records));
      CHECK(back.records.size() >= synced && back.records.size() <= synced + 1);
    }
    LONGS_EQUAL(8 + 4 + 4 + 4 + 3, failures);  // to begin, and for each record; one has no mean
  }
}

}  // namespace weft::apps
