// SPDX-License-Identifier: Apache-2.0
#include "apps/files/disk_keeper.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace weft::apps {
namespace {

constexpr std::string_view kStateName = "server";
constexpr std::string_view kEpochName = "epoch";
static_assert(sizeof(JournalStart) == 32, "it is stored as it lies");
// Of a checkpoint: its JournalStart, values, state, fingerprint, values of the round before or
// none.
constexpr size_t kParts = 5;

// Passes everything on to calls that somebody else owns.
class BorrowedCalls final : public FileCalls {
 public:
  explicit BorrowedCalls(FileCalls& calls) : calls_(calls) {}

  int Open(const std::string& path, int flags) override { return calls_.Open(path, flags); }
  ssize_t Write(int fd, std::span<const std::byte> bytes) override {
    return calls_.Write(fd, bytes);
  }
  int Sync(int fd) override { return calls_.Sync(fd); }
  int SyncData(int fd) override { return calls_.SyncData(fd); }
  int Truncate(int fd, uint64_t bytes) override { return calls_.Truncate(fd, bytes); }
  int Rename(const std::string& from, const std::string& to) override {
    return calls_.Rename(from, to);
  }
  int Remove(const std::string& path) override { return calls_.Remove(path); }

 private:
  FileCalls& calls_;
};

template <typename T>
bool ReadAs(std::span<const std::byte> part, T& value) {
  if (part.size() != sizeof(T)) return false;
  std::memcpy(&value, part.data(), sizeof(T));
  return true;
}

// A stored part need not be aligned as floats are.
std::vector<float> Floats(std::span<const std::byte> part) {
  std::vector<float> floats(part.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), part.data(), floats.size() * sizeof(float));
  return floats;
}

std::string Text(std::span<const std::byte> part) {
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

}  // namespace

Result<std::unique_ptr<DiskKeeper>> DiskKeeper::Open(DiskKeeperSetting setting,
                                                     std::unique_ptr<FileCalls> calls) {
  if (setting.folder.empty()) setting.folder = ".";
  Result<std::unique_ptr<CheckpointFolder>> checkpoints =
      CheckpointFolder::Open(setting.folder, std::make_unique<BorrowedCalls>(*calls));
  if (!checkpoints.ok()) return checkpoints.status();
  std::unique_ptr<DiskKeeper> keeper(
      new DiskKeeper(std::move(setting), std::move(calls), std::move(checkpoints).value()));
  if (Status status = keeper->LoadCheckpoint(); !status.ok()) return status;
  return keeper;
}

Status DiskKeeper::LoadCheckpoint() {
  const std::string& folder = setting_.folder;
  Result<train::StoredState> loaded = checkpoints_->Load(kStateName);
  if (loaded.status().code() == StatusCode::kNotFound) {
    const Result<std::vector<JournalName>> journals = ListJournals(folder);
    if (!journals.ok() || journals->empty()) return journals.status();
    return Status::InvalidInput(journals->front().path +
                                " is there, but not the checkpoint it follows; bring that back, or "
                                "move the journals away to start anew");
  }
  if (!loaded.ok()) return loaded.status();

  JournalStart start;
  if (loaded->parts.size() != kParts || !ReadAs(loaded->parts[0], start)) {
    return Status::InvalidInput("the checkpoint in " + folder + " is not a server's");
  }
  const std::string fingerprint = Text(loaded->parts[3]);
  if (fingerprint != setting_.fingerprint) {
    return Status::InvalidInput("the checkpoint in " + folder + " is of '" + fingerprint +
                                "', but this server is for '" + setting_.fingerprint +
                                "'; give another folder or the same job");
  }
  const auto holds = [](std::span<const std::byte> part, int64_t floats) {
    return part.size() % sizeof(float) == 0 &&
           part.size() / sizeof(float) == static_cast<uint64_t>(floats);
  };
  if (!holds(loaded->parts[1], setting_.floats) ||
      !holds(loaded->parts[2], setting_.state_floats) ||
      (!loaded->parts[4].empty() && !holds(loaded->parts[4], setting_.floats))) {
    return Status::InvalidInput("the checkpoint in " + folder + " has " +
                                std::to_string(loaded->parts[1].size() / sizeof(float)) + " and " +
                                std::to_string(loaded->parts[2].size() / sizeof(float)) +
                                " floats, but this server has " + std::to_string(setting_.floats) +
                                " and " + std::to_string(setting_.state_floats));
  }
  checkpoint_ = start;
  loaded_ = std::move(loaded).value();
  return Status::Ok();
}

DiskKeeper::~DiskKeeper() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<uint64_t> DiskKeeper::NextEpoch() {
  const std::lock_guard<std::mutex> lock(checkpoints_mu_);
  const Result<train::StoredState> before = checkpoints_->Load(kEpochName);
  uint64_t epoch = 0;
  if (before.ok()) {
    if (before->parts.size() != 1 || !ReadAs(before->parts[0], epoch)) {
      return Status::InvalidInput("the count of starts in " + setting_.folder +
                                  " is not a server's");
    }
    if (!before->fallback.empty()) ++epoch;  // the one that is damaged was used, too
  } else if (before.status().code() != StatusCode::kNotFound) {
    return before.status();
  }
  ++epoch;
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(&epoch, 1))};
  if (Status status = checkpoints_->Save(kEpochName, parts); !status.ok()) return status;
  return epoch;
}

Result<Recovered> DiskKeeper::Recover(const ps::Recovery& recovery) {
  assert(!thread_.joinable());
  Recovered recovered;
  if (checkpoint_) {
    assert(loaded_);
    {
      const std::vector<float> values = Floats(loaded_->parts[1]);
      const std::vector<float> state = Floats(loaded_->parts[2]);
      const std::vector<float> older = Floats(loaded_->parts[4]);
      recovered = {.found = true, .damage = loaded_->fallback};
      loaded_.reset();
      const ps::Snapshot snapshot{.round = checkpoint_->round,
                                  .values = values,
                                  .optimizer_state = state,
                                  .older_values = older};
      if (Status status = recovery.snapshot(snapshot); !status.ok()) return status;
    }
    Result<JournalChain> chain =
        ReadJournals(setting_.folder, setting_.floats, *checkpoint_, recovery.record);
    if (!chain.ok()) return chain.status();
    chain_ = std::move(chain).value();
    records_ = chain_.records;
    next_number_ = std::max(checkpoint_->checkpoint, chain_.newest_checkpoint) + 1;
    if (!chain_.damage.empty()) {
      recovered.damage += (recovered.damage.empty() ? "" : "; ") + chain_.damage;
    }
  } else {
    refusal_ = "there is no checkpoint in " + setting_.folder + " yet that a record could follow";
  }
  thread_ = std::thread([this] { Work(); });
  return recovered;
}

void DiskKeeper::Append(const ps::JournalRecord& record) {
  assert(record.slice.begin >= 0 && record.slice.end <= setting_.floats);
  Push(record);
}

void DiskKeeper::Checkpoint(const ps::Snapshot& snapshot) {
  assert(std::ssize(snapshot.values) == setting_.floats);
  assert(std::ssize(snapshot.optimizer_state) == setting_.state_floats);
  Push(snapshot);
}

void DiskKeeper::Push(Job job) {
  assert(thread_.joinable());  // Recover comes first
  {
    const std::lock_guard<std::mutex> lock(mu_);
    queue_.push_back(std::move(job));
  }
  changed_.notify_all();
}

std::vector<ps::KeptEvent> DiskKeeper::Poll() {
  const std::lock_guard<std::mutex> lock(mu_);
  return std::exchange(events_, {});
}

bool DiskKeeper::WaitIdle(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mu_);
  return changed_.wait_for(lock, patience, [&] { return queue_.empty() && !working_; });
}

void DiskKeeper::Work() {
  while (true) {
    std::vector<Job> jobs;
    {
      std::unique_lock<std::mutex> lock(mu_);
      working_ = false;
      changed_.notify_all();
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      jobs.swap(queue_);
      working_ = true;
    }
    const auto is_snapshot = [](const Job& job) {
      return std::holds_alternative<ps::Snapshot>(job);
    };
    for (auto job = jobs.begin(); job != jobs.end();) {
      if (is_snapshot(*job)) {
        KeepSnapshot(std::get<ps::Snapshot>(*job++));
        continue;
      }
      const auto end = std::find_if(job, jobs.end(), is_snapshot);
      KeepRecords(std::span(job, end));
      job = end;
    }
  }
}

void DiskKeeper::KeepRecords(std::span<const Job> records) {
  Status status;
  if (refusal_.empty()) {
    status = WriteRecords(records);
    refusal_ = status.message();
  } else {
    status = Status::Unavailable(refusal_ + "; a checkpoint must succeed first");
  }
  if (status.ok()) {
    records_ += records.size();
  } else {
    records_missing_ = true;
    journal_.reset();
  }
  std::vector<ps::KeptEvent> events;
  for (const Job& job : records) {
    const auto& record = std::get<ps::JournalRecord>(job);
    events.push_back({.kind = ps::KeptEvent::Kind::kAppended,
                      .round = record.round,
                      .slice = record.slice,
                      .status = status});
  }
  Report(std::move(events));
}

Status DiskKeeper::WriteRecords(std::span<const Job> records) {
  if (Status status = RemoveUseless(); !status.ok()) return status;
  if (Status status = OpenJournal(); !status.ok()) return status;
  for (const Job& job : records) {
    const Status status = journal_->Append(std::get<ps::JournalRecord>(job));
    if (!status.ok()) return status;
  }
  return journal_->Sync();
}

// Behind what was found at the start, or in a file of its own behind a newer checkpoint.
Status DiskKeeper::OpenJournal() {
  if (journal_) return Status::Ok();
  Result<JournalWriter> writer =
      chain_.last_path.empty()
          ? JournalWriter::Create(JournalPath(setting_.folder, checkpoint_->round), *checkpoint_,
                                  *calls_)
          : JournalWriter::Continue(chain_.last_path, chain_.last, *calls_);
  if (!writer.ok()) return writer.status();
  journal_.emplace(std::move(writer).value());
  return Status::Ok();
}

// Journals that lead nowhere must be gone, on the disk, before new rounds come to where they began:
// they would seem to follow.
Status DiskKeeper::RemoveUseless() {
  if (chain_.useless.empty()) return Status::Ok();
  for (const std::string& path : chain_.useless) {
    if (calls_->Remove(path) != 0 && errno != ENOENT) {
      return Status::SystemFailure("cannot remove " + path);
    }
  }
  if (const int error = SyncFolder(setting_.folder, *calls_); error != 0) {
    return Status::Unavailable("cannot force folder " + setting_.folder +
                               " to the disk: " + std::generic_category().message(error));
  }
  chain_.useless.clear();
  return Status::Ok();
}

void DiskKeeper::KeepSnapshot(const ps::Snapshot& snapshot) {
  Status status = WriteSnapshot(snapshot);
  if (!status.ok()) status = Status::Unavailable(status.message());
  refusal_ = status.message();
  Report({{.kind = ps::KeptEvent::Kind::kCheckpointed, .round = snapshot.round, .status = status}});
}

Status DiskKeeper::WriteSnapshot(const ps::Snapshot& snapshot) {
  if (Status status = RemoveUseless(); !status.ok()) return status;
  JournalStart next = {.round = snapshot.round, .checkpoint = next_number_};
  if (checkpoint_) {
    next.before_checkpoint = checkpoint_->checkpoint;
    next.before_records = records_missing_ ? JournalStart::kRecordsMissing : records_;
  }
  const std::span<const std::byte> parts[kParts] = {
      std::as_bytes(std::span(&next, 1)), std::as_bytes(snapshot.values),
      std::as_bytes(snapshot.optimizer_state), std::as_bytes(std::span(setting_.fingerprint)),
      std::as_bytes(snapshot.older_values)};
  {
    const std::lock_guard<std::mutex> lock(checkpoints_mu_);
    if (Status status = checkpoints_->Save(kStateName, parts); !status.ok()) return status;
  }
  const std::optional<JournalStart> older = std::exchange(checkpoint_, next);
  ++next_number_;
  records_ = 0;
  records_missing_ = false;
  journal_.reset();
  chain_ = {};
  if (older) RemoveJournals(setting_.folder, older->round, *calls_);
  return Status::Ok();
}

void DiskKeeper::Report(std::vector<ps::KeptEvent> events) {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    for (ps::KeptEvent& event : events) events_.push_back(std::move(event));
  }
  if (setting_.wake) setting_.wake();
}

}  // namespace weft::apps
