// SPDX-License-Identifier: Apache-2.0
// Keeps a server's state in a folder of its own: two generations of checkpoints, and the journals
// since the older of them, so that whichever of the two is lost, the newest round is not. One
// process at a time has the folder. A thread of its own does the writing; what is queued at once
// is forced to the disk at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "apps/files/checkpoint_folder.h"
#include "apps/files/journal_chain.h"
#include "apps/files/journal_file.h"
#include "apps/files/replace_file.h"
#include "cloud_ps/keeper.h"
#include "core/status.h"
#include "core/train/storage.h"

namespace weft::apps {

struct DiskKeeperSetting {
  std::string folder;
  int64_t floats = 0;               // of the server's part of the model
  int64_t state_floats = 0;         // of its optimizer
  std::string fingerprint;          // of all that must be the same for the state to be of any use
  std::function<void()> wake = {};  // called when Poll has something new; by the keeper's thread
};

struct Recovered {
  bool found = false;       // false: nothing was ever kept here
  std::string damage = {};  // empty, or a sentence for people: what was left out, and why
};

// Thread: the server's. First Recover, once; then Append and Checkpoint. Until the first checkpoint
// of a new folder there is nothing that a record could follow, so appends are refused.
class DiskKeeper final : public ps::Keeper {
 public:
  // Creates the folder if it is not there. Unavailable: another process has it, or the disk does
  // not allow it. InvalidInput: what is there is of another model or a newer weft, or is damaged
  // beyond use; nothing of it is touched.
  static Result<std::unique_ptr<DiskKeeper>> Open(
      DiskKeeperSetting setting, std::unique_ptr<FileCalls> calls = std::make_unique<FileCalls>());
  // Finishes what is queued.
  ~DiskKeeper() override;

  // How often a server was started on this folder, this start included: 1, then 2, ... It is on the
  // disk when it is returned. May skip numbers where the disk was damaged, but never repeats one.
  Result<uint64_t> NextEpoch();

  // What was kept up to the last process's end. Changes nothing on the disk.
  Result<Recovered> Recover(const ps::Recovery& recovery);

  void Append(const ps::JournalRecord& record) override;
  void Checkpoint(const ps::Snapshot& snapshot) override;
  std::vector<ps::KeptEvent> Poll() override;

  // Waits until everything queued is finished; false if it still is not after `patience`.
  bool WaitIdle(std::chrono::milliseconds patience);

 private:
  using Job = std::variant<ps::JournalRecord, ps::Snapshot>;

  DiskKeeper(DiskKeeperSetting setting, std::unique_ptr<FileCalls> calls,
             std::unique_ptr<CheckpointFolder> checkpoints)
      : setting_(std::move(setting)),
        calls_(std::move(calls)),
        checkpoints_(std::move(checkpoints)) {}

  Status LoadCheckpoint();
  void Push(Job job);

  // Thread: the keeper's own.
  void Work();
  void KeepRecords(std::span<const Job> records);
  Status WriteRecords(std::span<const Job> records);
  void KeepSnapshot(const ps::Snapshot& snapshot);
  Status WriteSnapshot(const ps::Snapshot& snapshot);
  Status RemoveUseless();
  Status OpenJournal();
  void Report(std::vector<ps::KeptEvent> events);

  // Fixed after construction.
  const DiskKeeperSetting setting_;
  const std::unique_ptr<FileCalls> calls_;
  std::thread thread_;  // from the end of Recover on

  // Owned by the server's thread until Recover has ended, by the keeper's own then.
  std::optional<train::StoredState> loaded_;  // until Recover
  std::optional<JournalStart> checkpoint_;    // the newest that is safe
  uint64_t next_number_ = 1;                  // of a checkpoint
  JournalChain chain_;                        // the journals since, as they were found
  std::optional<JournalWriter> journal_;      // the one being written
  uint64_t records_ = 0;                      // in journals, since the checkpoint
  bool records_missing_ = false;              // some since then could not be written
  std::string refusal_;                       // why appends are refused; empty: they are not

  std::mutex checkpoints_mu_;
  const std::unique_ptr<CheckpointFolder> checkpoints_;  // used under checkpoints_mu_

  // Guarded by mu_.
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<Job> queue_;
  std::vector<ps::KeptEvent> events_;
  bool working_ = false;  // on jobs that were taken out of the queue
  bool stop_ = false;
};

}  // namespace weft::apps
