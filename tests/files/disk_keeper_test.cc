// SPDX-License-Identifier: Apache-2.0
// A server that starts again goes on from the last round it was told is kept, whatever happened to
// the process, the disk and the files meanwhile.
#include "apps/files/disk_keeper.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "core/rng.h"
#include "tests/files/failing_calls.h"
#include "tests/files/other_process.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

namespace fs = std::filesystem;
using Kind = ps::KeptEvent::Kind;

constexpr int64_t kFloats = 20;
constexpr net::FloatRange kSlices[] = {{0, 7}, {7, 8}, {8, 20}};
constexpr auto kPatience = std::chrono::seconds(60);  // a disk can be slow; it never comes to that

DiskKeeperSetting SettingFor(const std::string& folder) {
  return {.folder = folder, .floats = kFloats, .state_floats = 2 * kFloats, .fingerprint = "tiny"};
}

// What a server keeps in memory: a model that is moved slice by slice, and what it was told.
struct TinyServer {
  // What workers send in `round`; another salt is another history.
  std::vector<float> MeanOf(net::FloatRange slice) const {
    std::vector<float> mean;
    for (int64_t i = slice.begin; i < slice.end; ++i) {
      mean.push_back(static_cast<float>((31 * round + 7 * i + salt) % 13 - 6) / 3);
    }
    return mean;
  }

  void Apply(net::FloatRange slice, std::span<const float> mean) {
    for (int64_t i = slice.begin; i < slice.end; ++i) {
      const size_t at = static_cast<size_t>(i);
      const float m = mean[at - static_cast<size_t>(slice.begin)];
      state[at] = 0.9f * state[at] + m;
      state[at + kFloats] += 1;
      values[at] -= 0.1f * state[at];
    }
    if (++slices_done == std::size(kSlices)) {
      slices_done = 0;
      ++round;
    }
  }

  friend bool operator==(const TinyServer& a, const TinyServer& b) {  // by bits, but for the salt
    return a.round == b.round && a.slices_done == b.slices_done &&
           std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0 &&
           std::memcmp(a.state.data(), b.state.data(), a.state.size() * sizeof(float)) == 0;
  }

  int64_t round = 0;
  size_t slices_done = 0;  // of it
  int64_t salt = 0;
  std::vector<float> values = std::vector<float>(kFloats, 1.0f);
  std::vector<float> state = std::vector<float>(2 * kFloats);
};

// What everything queued came to.
std::vector<ps::KeptEvent> Finish(DiskKeeper& keeper) {
  CHECK(keeper.WaitIdle(kPatience));
  return keeper.Poll();
}

Status AppendSlice(TinyServer& server, DiskKeeper& keeper) {
  const net::FloatRange slice = kSlices[server.slices_done];
  const std::vector<float> mean = server.MeanOf(slice);
  const int64_t round = server.round;
  server.Apply(slice, mean);
  keeper.Append({.round = round, .slice = slice, .mean = mean, .contributions = {{"edge-1", 32}}});
  const std::vector<ps::KeptEvent> events = Finish(keeper);
  LONGS_EQUAL(1, events.size());
  CHECK(events[0].kind == Kind::kAppended && events[0].slice == slice);
  LONGS_EQUAL(round, events[0].round);
  return events[0].status;
}

Status Checkpoint(const TinyServer& server, DiskKeeper& keeper) {
  LONGS_EQUAL(0, server.slices_done);
  keeper.Checkpoint(
      {.round = server.round, .values = server.values, .optimizer_state = server.state});
  const std::vector<ps::KeptEvent> events = Finish(keeper);
  LONGS_EQUAL(1, events.size());
  CHECK(events[0].kind == Kind::kCheckpointed);
  LONGS_EQUAL(server.round, events[0].round);
  return events[0].status;
}

void CheckOk(const Status& status) { CHECK_TEXT(status.ok(), status.message().c_str()); }

// Whole rounds, from the one the server is in to the one before `end`.
void RunRounds(TinyServer& server, DiskKeeper& keeper, int64_t end) {
  while (server.round < end) CheckOk(AppendSlice(server, keeper));
}

std::unique_ptr<DiskKeeper> OpenKeeper(
    const std::string& folder, std::unique_ptr<FileCalls> calls = std::make_unique<FileCalls>()) {
  Result<std::unique_ptr<DiskKeeper>> keeper =
      DiskKeeper::Open(SettingFor(folder), std::move(calls));
  CHECK_TEXT(keeper.ok(), keeper.status().message().c_str());
  return std::move(keeper).value();
}

// Brings `server` to where the keeper's folder is; records must come in their order, each once.
Recovered Recover(DiskKeeper& keeper, TinyServer& server) {
  const Result<Recovered> recovered = keeper.Recover(
      {.snapshot =
           [&](const ps::Snapshot& snapshot) {
             server.round = snapshot.round;
             server.values.assign(snapshot.values.begin(), snapshot.values.end());
             server.state.assign(snapshot.optimizer_state.begin(), snapshot.optimizer_state.end());
             return Status::Ok();
           },
       .record =
           [&](const ps::JournalRecord& record) {
             LONGS_EQUAL(server.round, record.round);
             CHECK(kSlices[server.slices_done] == record.slice);
             CHECK(record.contributions == std::vector<ps::Contribution>({{"edge-1", 32}}));
             server.Apply(record.slice, record.mean);
             return Status::Ok();
           }});
  CHECK_TEXT(recovered.ok(), recovered.status().message().c_str());
  return *recovered;
}

struct Found {
  TinyServer server;
  Recovered recovered;
};

Found RecoverFrom(const std::string& folder) {
  Found found;
  found.recovered = Recover(*OpenKeeper(folder), found.server);
  return found;
}

void CheckRecovers(const std::string& folder, const TinyServer& expected) {
  const Found found = RecoverFrom(folder);
  CHECK(found.recovered.found);
  STRCMP_EQUAL("", found.recovered.damage.c_str());
  LONGS_EQUAL(expected.round, found.server.round);
  CHECK(expected == found.server);
}

// All files of a folder but the lock, by name.
std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != "lock") contents[name] = ReadAll(entry.path().string());
  }
  return contents;
}

bool Exists(const std::string& folder, const char* name) { return fs::exists(folder + "/" + name); }

void Damage(const std::string& path, size_t at) {
  std::string content = ReadAll(path);
  content[at] = static_cast<char>(content[at] ^ 0x10);
  WriteAll(path, content);
}

std::string NewestCheckpoint(const std::string& folder) {
  const auto path = [&](int slot) {
    return folder + "/server." + std::to_string(slot) + ".checkpoint";
  };
  const auto generation = [&](int slot) {
    uint64_t number = 0;
    std::memcpy(&number, ReadAll(path(slot)).data() + 16, sizeof(number));
    return number;
  };
  return path(generation(0) > generation(1) ? 0 : 1);
}

// Checkpoints at the beginning of rounds 0, 4 and 8, journals of rounds 4 to 7 and 8 to 10, and
// two slices of round 11.
struct ThreeCheckpoints {
  ThreeCheckpoints() {
    const auto keeper = OpenKeeper(path);
    CHECK_FALSE(Recover(*keeper, server).found);
    CheckOk(Checkpoint(server, *keeper));
    for (const int64_t round : {4, 8}) {
      RunRounds(server, *keeper, round);
      CheckOk(Checkpoint(server, *keeper));
    }
    RunRounds(server, *keeper, 11);
    CheckOk(AppendSlice(server, *keeper));
    CheckOk(AppendSlice(server, *keeper));
  }

  ScratchFolder scratch;
  std::string path = scratch.path();
  std::string newest = scratch.Path("server.0.checkpoint");  // third of three
  TinyServer server;
};

}  // namespace

TEST_GROUP(DiskKeeper){};

TEST(DiskKeeper, BeginsWithNothingAndWantsACheckpointFirst) {
  const ScratchFolder scratch;
  TinyServer server;
  {
    const auto keeper = OpenKeeper(scratch.Path("new/folder/"));
    CHECK_FALSE(Recover(*keeper, server).found);
    TinyServer other = server;
    const Status refused = AppendSlice(other, *keeper);
    CHECK(refused.code() == StatusCode::kUnavailable);
    STRCMP_CONTAINS("there is no checkpoint in", refused.message().c_str());
    CheckOk(Checkpoint(server, *keeper));
    RunRounds(server, *keeper, 2);
  }
  CheckRecovers(scratch.Path("new/folder"), server);
}

TEST(DiskKeeper, GivesBackTheCheckpointAndTheRecordsAfterIt) {
  const ThreeCheckpoints kept;
  CheckRecovers(kept.path, kept.server);
  CheckRecovers(kept.path, kept.server);  // reading changed nothing
}

TEST(DiskKeeper, GoesOnAfterEveryStart) {
  const ScratchFolder scratch;
  TinyServer truth;
  for (int start = 0; start < 12; ++start) {
    const auto keeper = OpenKeeper(scratch.path());
    TinyServer server;
    const Recovered recovered = Recover(*keeper, server);
    STRCMP_EQUAL("", recovered.damage.c_str());
    CHECK(truth == server);
    if (!recovered.found || (start % 5 == 0 && server.slices_done == 0)) {
      CheckOk(Checkpoint(server, *keeper));
    }
    for (int slice = 0; slice < start; ++slice) CheckOk(AppendSlice(server, *keeper));
    truth = server;
  }
}

TEST(DiskKeeper, ATornTailIsLeftOutAndOverwritten) {
  const ThreeCheckpoints kept;
  const std::string journal = kept.path + "/journal-8";
  const std::string intact = ReadAll(journal);
  for (size_t cut = 1; cut < 200; cut += 11) {
    for (const std::string& tail : {std::string(), std::string(300, 'x')}) {
      WriteAll(journal, intact.substr(0, intact.size() - cut) + tail);
      TinyServer server;
      {
        const auto keeper = OpenKeeper(kept.path);
        const Recovered recovered = Recover(*keeper, server);
        STRCMP_CONTAINS("/journal-8 are left out", recovered.damage.c_str());
        CHECK(server.round <= kept.server.round);
        server.salt = 5;
        RunRounds(server, *keeper, 14);
      }
      CheckRecovers(kept.path, server);
    }
  }
}

TEST(DiskKeeper, OfRecordsOfTheSameSliceTheFirstCounts) {
  const ThreeCheckpoints kept;
  TinyServer server;
  {
    const auto keeper = OpenKeeper(kept.path);
    Recover(*keeper, server);
    TinyServer again = server;
    again.slices_done = 0;
    again.salt = 3;
    CheckOk(AppendSlice(again, *keeper));
    CheckOk(AppendSlice(again, *keeper));
    RunRounds(server, *keeper, 12);
  }
  CheckRecovers(kept.path, server);
}

TEST(DiskKeeper, DeletesJournalsThatNoCheckpointNeeds) {
  const ThreeCheckpoints kept;
  CHECK_FALSE(Exists(kept.path, "journal-0"));
  CHECK(Exists(kept.path, "journal-4"));
  CHECK(Exists(kept.path, "journal-8"));
  TinyServer server;
  WriteAll(kept.path + "/journal-8.17.unfinished", "left by a killed process");
  WriteAll(kept.path + "/journal-4-notes.txt", "mine");
  const auto keeper = OpenKeeper(kept.path);
  Recover(*keeper, server);
  RunRounds(server, *keeper, 12);
  CheckOk(Checkpoint(server, *keeper));
  RunRounds(server, *keeper, 13);
  CHECK_FALSE(Exists(kept.path, "journal-4"));
  CHECK(Exists(kept.path, "journal-8"));
  CHECK(Exists(kept.path, "journal-12"));
  CHECK_FALSE(Exists(kept.path, "journal-8.17.unfinished"));
  CHECK(Exists(kept.path, "journal-4-notes.txt"));
}

// F18
TEST(DiskKeeper, ReachesTheSameRoundWithoutItsNewestCheckpoint) {
  const ThreeCheckpoints kept;
  const std::string intact = ReadAll(kept.newest);
  for (size_t at = 0; at < intact.size(); at += 7) {
    std::string damaged = intact;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    for (const std::string& content : {damaged, intact.substr(0, at)}) {
      WriteAll(kept.newest, content);
      const Found found = RecoverFrom(kept.path);
      CHECK(kept.server == found.server);
      STRCMP_CONTAINS("going back to generation 2", found.recovered.damage.c_str());
      CHECK(found.recovered.damage.find("left out") == std::string::npos);
    }
  }
}

// F18, again and again: every time the newest checkpoint is lost, the history goes on.
TEST(DiskKeeper, GoesOnAfterLosingItsNewestCheckpoint) {
  const ThreeCheckpoints kept;
  TinyServer truth = kept.server;
  Rng rng(9);
  for (int turn = 0; turn < 20; ++turn) {
    Damage(NewestCheckpoint(kept.path), 100);
    const auto keeper = OpenKeeper(kept.path);
    TinyServer server;
    const Recovered recovered = Recover(*keeper, server);
    CHECK(recovered.damage.find("left out") == std::string::npos);
    CHECK(truth == server);
    if (server.slices_done != 0) RunRounds(server, *keeper, server.round + 1);
    RunRounds(server, *keeper, server.round + rng.Between(0, 2));
    CheckOk(Checkpoint(server, *keeper));
    RunRounds(server, *keeper, server.round + rng.Between(0, 2));
    if (rng.Between(0, 1) == 1) CheckOk(AppendSlice(server, *keeper));
    truth = server;
  }
}

TEST(DiskKeeper, WhatDoesNotLeadOnIsLeftOutAndNeverComesBack) {
  for (const bool checkpoint_first : {false, true}) {
    const ThreeCheckpoints kept;
    Damage(kept.newest, 100);
    Damage(kept.path + "/journal-4", ReadAll(kept.path + "/journal-4").size() / 2);
    TinyServer server;
    {
      const auto keeper = OpenKeeper(kept.path);
      const Recovered recovered = Recover(*keeper, server);
      LONGS_EQUAL(5, server.round);
      STRCMP_CONTAINS("/journal-8 is left out: records between it and the checkpoint are missing",
                      recovered.damage.c_str());
      STRCMP_CONTAINS("/journal-4 are left out", recovered.damage.c_str());
      CHECK(Exists(kept.path, "journal-8"));
      server.salt = 5;  // another history from here
      if (checkpoint_first) {
        while (server.slices_done != 0) {
          const net::FloatRange slice = kSlices[server.slices_done];
          server.Apply(slice, server.MeanOf(slice));
        }
        CheckOk(Checkpoint(server, *keeper));
      }
      RunRounds(server, *keeper, 8);
      CHECK_FALSE(Exists(kept.path, "journal-8"));
    }
    const Found found = RecoverFrom(kept.path);
    CHECK(server == found.server);
    CHECK(found.recovered.damage.find("left out") == std::string::npos);
  }
}

TEST(DiskKeeper, SaysSoIfAJournalIsDamagedFromItsBeginning) {
  const ThreeCheckpoints kept;
  Damage(kept.path + "/journal-8", 20);
  TinyServer server;
  {
    const auto keeper = OpenKeeper(kept.path);
    const Recovered recovered = Recover(*keeper, server);
    STRCMP_CONTAINS("/journal-8 is left out: it is damaged from its beginning",
                    recovered.damage.c_str());
    LONGS_EQUAL(8, server.round);
    RunRounds(server, *keeper, 9);
  }
  CheckRecovers(kept.path, server);
}

TEST(DiskKeeper, AnswersForEachJobInTheirOrder) {
  const ScratchFolder scratch;
  const auto keeper = OpenKeeper(scratch.path());
  TinyServer server;
  Recover(*keeper, server);
  const ps::Snapshot first{.round = 0, .values = server.values, .optimizer_state = server.state};
  std::vector<std::vector<float>> means;
  for (const net::FloatRange slice : kSlices) means.push_back(server.MeanOf(slice));
  keeper->Checkpoint(first);
  for (size_t i = 0; i < means.size(); ++i) {
    keeper->Append({.round = 0, .slice = kSlices[i], .mean = means[i]});
  }
  keeper->Checkpoint({.round = 1, .values = server.values, .optimizer_state = server.state});
  const std::vector<ps::KeptEvent> events = Finish(*keeper);
  LONGS_EQUAL(5, events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    CheckOk(events[i].status);
    CHECK((i == 0 || i == 4) == (events[i].kind == Kind::kCheckpointed));
    LONGS_EQUAL(i == 4 ? 1 : 0, events[i].round);
    if (i >= 1 && i <= 3) CHECK(kSlices[i - 1] == events[i].slice);
  }
  LONGS_EQUAL(0, keeper->Poll().size());
}

TEST(DiskKeeper, FinishesWhatIsQueuedBeforeItEnds) {
  const ThreeCheckpoints kept;
  TinyServer server;
  std::vector<std::vector<float>> means;  // outlive the keeper
  means.reserve(100);
  {
    const auto keeper = OpenKeeper(kept.path);
    Recover(*keeper, server);
    for (int slice = 0; slice < 100; ++slice) {
      const net::FloatRange range = kSlices[server.slices_done];
      const int64_t round = server.round;
      means.push_back(server.MeanOf(range));
      server.Apply(range, means.back());
      keeper->Append({.round = round,
                      .slice = range,
                      .mean = means.back(),
                      .contributions = {{"edge-1", 32}}});
    }
  }
  CheckRecovers(kept.path, server);
}

// F17: a server that goes on as long as it is told that things are kept, and asks for a checkpoint
// when they are not.
TEST(DiskKeeper, SurvivesAFailureOfEveryCall) {
  const ThreeCheckpoints kept;
  const std::map<std::string, std::string> before = Contents(kept.path);
  for (const auto& [error, torn] : {std::pair(ENOSPC, false), std::pair(EIO, true)}) {
    bool failed = true;
    int failures = 0;
    for (int failing = 0; failed; ++failing) {
      CHECK(failing < 200);
      const ScratchFolder scratch;
      for (const auto& [name, content] : before) WriteAll(scratch.Path(name), content);
      if (torn) WriteAll(scratch.Path("journal-8"), before.at("journal-8") + "torn");
      auto calls = std::make_unique<OneFailingCall>(failing, error);
      const OneFailingCall& disk = *calls;
      TinyServer server;
      TinyServer last_kept;  // that the server was told of
      int refusals = 0;
      {
        const auto keeper = OpenKeeper(scratch.path(), std::move(calls));
        Recover(*keeper, server);
        last_kept = server;
        bool append_refused = false;
        const auto note = [&](const Status& status) {
          if (status.ok()) {
            last_kept = server;
            return;
          }
          ++refusals;
          CHECK(status.code() == StatusCode::kUnavailable);
          CHECK(!status.message().empty() && status.message().find('\n') == std::string::npos);
        };
        while (server.round < 17) {
          const Status status = AppendSlice(server, *keeper);
          if (append_refused) {
            CHECK_FALSE(status.ok());
            STRCMP_CONTAINS("a checkpoint must succeed first", status.message().c_str());
          }
          append_refused = !status.ok();
          note(status);
          if (server.slices_done == 0 && (append_refused || server.round % 3 == 0)) {
            const Status checkpoint = Checkpoint(server, *keeper);
            append_refused = !checkpoint.ok();
            note(checkpoint);
          }
        }
        failed = disk.failed();
        failures += failed ? 1 : 0;
        CHECK(last_kept == server);  // one failure does not last
        CHECK(failed || refusals == 0);
      }
      CheckRecovers(scratch.path(), server);
      // Without either of its checkpoints it gets there, too, or says what is missing.
      for (const char* name : {"server.0.checkpoint", "server.1.checkpoint"}) {
        const std::string content = ReadAll(scratch.Path(name));
        Damage(scratch.Path(name), content.size() - 1);
        const Found found = RecoverFrom(scratch.path());
        const bool whole = found.server == server;
        CHECK(whole || !found.recovered.damage.empty());
        CHECK(whole || refusals > 0);
        WriteAll(scratch.Path(name), content);
      }
    }
    CHECK(failures > 60);
  }
}

// F17: the process ends at the failure instead.
TEST(DiskKeeper, KeepsWhatItHadIfItEndsAfterAFailure) {
  const ThreeCheckpoints kept;
  const std::map<std::string, std::string> before = Contents(kept.path);
  bool failed = true;
  for (int failing = 0; failed; ++failing) {
    CHECK(failing < 200);
    const ScratchFolder scratch;
    for (const auto& [name, content] : before) WriteAll(scratch.Path(name), content);
    auto calls = std::make_unique<OneFailingCall>(failing, EIO);
    const OneFailingCall& disk = *calls;
    TinyServer server;
    TinyServer last_kept;
    {
      const auto keeper = OpenKeeper(scratch.path(), std::move(calls));
      Recover(*keeper, server);
      last_kept = server;
      for (int turn = 0; turn < 12 && !disk.failed(); ++turn) {
        if (server.slices_done == 0 && server.round % 2 == 0) {
          if (Checkpoint(server, *keeper).ok()) last_kept = server;
          if (disk.failed()) break;
        }
        if (AppendSlice(server, *keeper).ok()) last_kept = server;
      }
      failed = disk.failed();
    }
    // What failed may be there all the same: a sync that fails does not say what it has written.
    const Found found = RecoverFrom(scratch.path());
    CHECK(found.server == last_kept || found.server == server);
  }
}

// F19
TEST(DiskKeeper, KilledAtAnyMomentItHasWhatItReported) {
  const ScratchFolder scratch;
  Rng rng(19);
  int64_t reported = -1;  // the last round that was kept
  for (int kill_number = 0; kill_number < 50; ++kill_number) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      TinyServer server;
      const auto keeper = OpenKeeper(scratch.path());
      if (!Recover(*keeper, server).found && !Checkpoint(server, *keeper).ok()) _exit(1);
      while (true) {
        const int64_t round = server.round;
        while (server.round == round) {
          if (!AppendSlice(server, *keeper).ok()) _exit(2);
        }
        if (write(ends[1], &round, sizeof(round)) != sizeof(round)) _exit(3);
        if (server.round % 4 == 0 && !Checkpoint(server, *keeper).ok()) _exit(4);
      }
    }
    close(ends[1]);
    int64_t lines = rng.Between(0, 12);
    int64_t round = 0;
    while (lines > 0 && read(ends[0], &round, sizeof(round)) == sizeof(round)) {
      LONGS_EQUAL(reported + 1, round);
      reported = round;
      --lines;
    }
    LONGS_EQUAL(0, lines);
    for (int64_t turns = rng.Between(0, 2000); turns > 0; --turns)
      sched_yield();  // strike anywhere
    CHECK(kill(child, SIGKILL) == 0);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    while (read(ends[0], &round, sizeof(round)) == sizeof(round)) reported = round;
    close(ends[0]);

    const Found found = RecoverFrom(scratch.path());
    CHECK(found.server.round > reported);
    CHECK(found.server.round <= reported + 2);
    TinyServer truth;
    while (truth.round != found.server.round || truth.slices_done != found.server.slices_done) {
      const net::FloatRange slice = kSlices[truth.slices_done];
      truth.Apply(slice, truth.MeanOf(slice));
    }
    CHECK(truth == found.server);
    reported = found.server.round - 1;
  }
  CHECK(reported > 50);
}

// F38
TEST(DiskKeeper, IsOneServersAtATime) {
  const ThreeCheckpoints kept;
  const auto refused = [&] {
    const Status status = DiskKeeper::Open(SettingFor(kept.path)).status();
    return status.code() == StatusCode::kUnavailable &&
           status.message().find("is in use by another process") != std::string::npos;
  };
  {
    const auto keeper = OpenKeeper(kept.path);
    CHECK(refused());
    LONGS_EQUAL(0, InOtherProcess([&] { return refused() ? 0 : 1; }));
  }
  CHECK_FALSE(refused());
}

TEST(DiskKeeper, CountsItsStarts) {
  const ScratchFolder scratch;
  for (uint64_t start = 1; start <= 5; ++start) {
    const auto keeper = OpenKeeper(scratch.path());
    UNSIGNED_LONGLONGS_EQUAL(start, keeper->NextEpoch().value());
  }
  Damage(scratch.Path("epoch.0.checkpoint"), 50);  // the fifth
  UNSIGNED_LONGLONGS_EQUAL(6, OpenKeeper(scratch.path())->NextEpoch().value());
  UNSIGNED_LONGLONGS_EQUAL(7, OpenKeeper(scratch.path())->NextEpoch().value());
  for (const char* name : {"epoch.0.checkpoint", "epoch.1.checkpoint"}) {
    Damage(scratch.Path(name), 50);
  }
  CHECK(OpenKeeper(scratch.path())->NextEpoch().status().code() == StatusCode::kInvalidInput);
}

TEST(DiskKeeper, AStartIsCountedBeforeItIsKnown) {
  bool failed = true;
  for (int failing = 0; failed; ++failing) {
    const ScratchFolder scratch;
    UNSIGNED_LONGLONGS_EQUAL(1, OpenKeeper(scratch.path())->NextEpoch().value());
    auto calls = std::make_unique<OneFailingCall>(failing, ENOSPC);
    const OneFailingCall& disk = *calls;
    {
      const auto keeper = OpenKeeper(scratch.path(), std::move(calls));
      const Result<uint64_t> epoch = keeper->NextEpoch();
      failed = disk.failed();
      CHECK_EQUAL(!failed, epoch.ok());
    }
    const uint64_t next = OpenKeeper(scratch.path())->NextEpoch().value();
    CHECK(next == 3 || (failed && next == 2));
  }
}

TEST(DiskKeeper, RefusesTheStateOfAnotherJobAndLeavesItAlone) {
  const ThreeCheckpoints kept;
  const std::map<std::string, std::string> before = Contents(kept.path);
  DiskKeeperSetting other = SettingFor(kept.path);
  other.fingerprint = "huge";
  const Status status = DiskKeeper::Open(other).status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS("is of 'tiny', but this server is for 'huge'", status.message().c_str());
  other = SettingFor(kept.path);
  ++other.floats;
  CHECK(DiskKeeper::Open(other).status().code() == StatusCode::kInvalidInput);
  other = SettingFor(kept.path);
  other.state_floats = 0;
  STRCMP_CONTAINS("has 20 and 40 floats, but this server has 20 and 0",
                  DiskKeeper::Open(other).status().message().c_str());
  CHECK(before == Contents(kept.path));
  CheckRecovers(kept.path, kept.server);
}

TEST(DiskKeeper, DoesNotBeginAnewWhereTheCheckpointsAreGone) {
  const ThreeCheckpoints kept;
  const std::string other = kept.path + "/server.1.checkpoint";
  const std::string content = ReadAll(other);
  fs::remove(kept.newest);
  WriteAll(other, content.substr(0, 100));
  CHECK(DiskKeeper::Open(SettingFor(kept.path)).status().code() == StatusCode::kInvalidInput);
  fs::remove(other);
  const Status status = DiskKeeper::Open(SettingFor(kept.path)).status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS("is there, but not the checkpoint it follows", status.message().c_str());
}

TEST(DiskKeeper, RecoveryEndsWithTheServersOwnObjection) {
  const ThreeCheckpoints kept;
  int records = 0;
  const auto fine = [](const auto&) { return Status::Ok(); };
  const auto objection = [](const auto&) { return Status::InvalidInput("no"); };
  STRCMP_EQUAL("no", OpenKeeper(kept.path)
                         ->Recover({.snapshot = objection, .record = fine})
                         .status()
                         .message()
                         .c_str());
  const Status status =
      OpenKeeper(kept.path)
          ->Recover({.snapshot = fine,
                     .record =
                         [&](const ps::JournalRecord&) {
                           return ++records == 3 ? Status::InvalidInput("no") : Status::Ok();
                         }})
          .status();
  STRCMP_EQUAL("no", status.message().c_str());
  LONGS_EQUAL(3, records);
}

}  // namespace weft::apps
