// SPDX-License-Identifier: Apache-2.0
// What is saved comes back, whatever happens to the machine, the disk and the files meanwhile.
#include "apps/files/checkpoint_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "core/rng.h"
#include "tests/files/failing_calls.h"
#include "tests/files/other_process.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using Strings = std::vector<std::string>;

const Strings kOld = {"old parameters", "", "old momentum"};
const Strings kNew = {"new", "parameters and momentum", "!"};

std::unique_ptr<CheckpointFolder> OpenFolder(
    const std::string& path, std::unique_ptr<FileCalls> calls = std::make_unique<FileCalls>()) {
  return CheckpointFolder::Open(path, std::move(calls)).value();
}

Strings Content(const train::StoredState& state) {
  Strings strings;
  for (const std::span<const std::byte> part : state.parts) {
    strings.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return strings;
}

void CheckLoads(CheckpointFolder& folder, const Strings& expected, uint64_t generation) {
  const Result<train::StoredState> state = folder.Load("job");
  CHECK_TEXT(state.ok(), state.status().message().c_str());
  CHECK(expected == Content(*state));
  UNSIGNED_LONGLONGS_EQUAL(generation, state->generation);
  STRCMP_EQUAL("", state->fallback.c_str());
}

void CheckIsOneSentence(const std::string& message) {
  CHECK(!message.empty());
  CHECK(message.find('\n') == std::string::npos);
}

// A folder in which "job" was saved twice: generation 1 is kOld in slot 0, 2 is kNew in slot 1.
struct TwoSaves {
  TwoSaves() {
    CHECK(OpenFolder(path)->Save("job", AsParts(kOld)).ok());
    CHECK(OpenFolder(path)->Save("job", AsParts(kNew)).ok());
  }

  ScratchFolder scratch;
  std::string path = scratch.path();
  std::string older = scratch.Path("job.0.checkpoint");
  std::string newer = scratch.Path("job.1.checkpoint");
};

void CheckFallsBack(const TwoSaves& saves) {
  const Result<train::StoredState> state = OpenFolder(saves.path)->Load("job");
  CHECK_TEXT(state.ok(), state.status().message().c_str());
  CHECK(kOld == Content(*state));
  UNSIGNED_LONGLONGS_EQUAL(1, state->generation);
  STRCMP_CONTAINS(saves.newer.c_str(), state->fallback.c_str());
  STRCMP_CONTAINS("going back to generation 1 in ", state->fallback.c_str());
  CheckIsOneSentence(state->fallback);
}

int FilesIn(const std::string& path) {
  const auto entries = std::filesystem::directory_iterator(path);
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

// Runs `work` in a process of its own and returns how waitpid describes its end.
class KilledAtRename final : public FileCalls {
 public:
  int Rename(const std::string&, const std::string&) override { return raise(SIGKILL); }
};

}  // namespace

TEST_GROUP(CheckpointFolder){};

TEST(CheckpointFolder, LoadsWhatWasSaved) {
  const ScratchFolder scratch;
  const auto folder = OpenFolder(scratch.path());
  for (const Strings& parts : {kOld, Strings{}, Strings{""}, Strings{std::string(3 << 20, 'x')}}) {
    CHECK(folder->Save("job", AsParts(parts)).ok());
    CHECK(parts == Content(folder->Load("job").value()));
  }
}

TEST(CheckpointFolder, KeepsNamesApart) {
  const ScratchFolder scratch;
  const auto folder = OpenFolder(scratch.path());
  CHECK(folder->Save("job", AsParts(kOld)).ok());
  CHECK(folder->Save("job2", AsParts(kNew)).ok());
  CheckLoads(*folder, kOld, 1);
  CHECK(kNew == Content(folder->Load("job2").value()));
}

TEST(CheckpointFolder, LoadsTheNewestAfterAnyNumberOfSaves) {
  const ScratchFolder scratch;
  for (uint64_t save = 1; save <= 5; ++save) {
    const Strings parts = {std::to_string(save)};
    {
      const auto folder = OpenFolder(scratch.path());
      CHECK(folder->Save("job", AsParts(parts)).ok());
      CheckLoads(*folder, parts, save);
    }
    CheckLoads(*OpenFolder(scratch.path() + "/"), parts, save);
  }
  LONGS_EQUAL(3, FilesIn(scratch.path()));  // two generations and the lock
}

TEST(CheckpointFolder, SaysThatNothingWasSaved) {
  const ScratchFolder scratch;
  const Result<train::StoredState> state = OpenFolder(scratch.path())->Load("job");
  CHECK(state.status().code() == StatusCode::kNotFound);
  STRCMP_CONTAINS("nothing is saved as 'job'", state.status().message().c_str());
}

TEST(CheckpointFolder, MakesTheFoldersThatAreMissing) {
  const ScratchFolder scratch;
  const std::string deep = scratch.Path("a/b/c/");
  CHECK(OpenFolder(deep)->Save("job", AsParts(kOld)).ok());
  CheckLoads(*OpenFolder(deep), kOld, 1);
}

TEST(CheckpointFolder, SaysWhyItCannotBeOpened) {
  const ScratchFolder scratch;
  WriteAll(scratch.Path("file"), "");
  for (const char* name : {"file", "file/below"}) {
    const auto folder = CheckpointFolder::Open(scratch.Path(name));
    CHECK(folder.status().code() == StatusCode::kUnavailable);
    STRCMP_CONTAINS("Not a directory", folder.status().message().c_str());
  }
}

TEST(CheckpointFolder, FallsBackWhereAnyByteOfTheNewestIsChanged) {
  const TwoSaves saves;
  const std::string intact = ReadAll(saves.newer);
  for (size_t at = 0; at < intact.size(); ++at) {
    for (const unsigned mask : {0x01u, 0x80u, 0xFFu}) {
      std::string changed = intact;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ mask);
      WriteAll(saves.newer, changed);
      CheckFallsBack(saves);
    }
  }
}

TEST(CheckpointFolder, FallsBackWhereverTheNewestEnds) {
  const TwoSaves saves;
  const std::string intact = ReadAll(saves.newer);
  for (size_t length = 0; length < intact.size(); ++length) {
    WriteAll(saves.newer, intact.substr(0, length));
    CheckFallsBack(saves);
  }
  WriteAll(saves.newer, intact + "x");
  CheckFallsBack(saves);
}

TEST(CheckpointFolder, FallsBackFromWhatIsNoCheckpointAtAll) {
  const TwoSaves saves;
  const std::string zeros(ReadAll(saves.newer).size(), '\0');  // what a power cut can leave
  for (const std::string& content : {zeros, std::string("#!/bin/sh\n")}) {
    WriteAll(saves.newer, content);
    CheckFallsBack(saves);
    STRCMP_CONTAINS("is not a checkpoint of weft",
                    OpenFolder(saves.path)->Load("job")->fallback.c_str());
  }
}

TEST(CheckpointFolder, FallsBackFromWhatCannotBeRead) {
  const TwoSaves saves;
  std::filesystem::remove(saves.newer);
  std::filesystem::create_directory(saves.newer);
  CheckFallsBack(saves);
}

TEST(CheckpointFolder, NeverTurnsRandomDamageIntoAState) {
  const TwoSaves saves;
  const std::string intact = ReadAll(saves.newer);
  Rng rng(21);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = intact;
    const int64_t changes = rng.Between(1, 8);
    for (int64_t i = 0; i < changes; ++i) {
      const auto at = static_cast<size_t>(rng.Between(0, std::ssize(changed) - 1));
      changed[at] = static_cast<char>(rng.Between(0, 255));
    }
    if (changed == intact) continue;
    WriteAll(saves.newer, changed);
    CheckFallsBack(saves);
  }
}

TEST(CheckpointFolder, DoesNotComplainOfDamageToWhatIsOutdated) {
  const TwoSaves saves;
  std::string changed = ReadAll(saves.older);
  changed.back() = static_cast<char>(changed.back() ^ 1);
  WriteAll(saves.older, changed);
  CheckLoads(*OpenFolder(saves.path), kNew, 2);
}

TEST(CheckpointFolder, SaysSoIfNothingIsLeftAndStartsAnew) {
  const TwoSaves saves;
  WriteAll(saves.older, ReadAll(saves.older).substr(0, 100));
  WriteAll(saves.newer, "");
  const auto folder = OpenFolder(saves.path);
  const Status status = folder->Load("job").status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS("which is not what its header says", status.message().c_str());
  STRCMP_CONTAINS("it is empty", status.message().c_str());
  CheckIsOneSentence(status.message());
  CHECK(folder->Save("job", AsParts(kNew)).ok());
  CHECK(kNew == Content(folder->Load("job").value()));
}

TEST(CheckpointFolder, NeverReplacesTheOnlyUndamagedFile) {
  for (const bool load_first : {false, true}) {
    const TwoSaves saves;
    const std::string kept = ReadAll(saves.older);
    WriteAll(saves.newer, ReadAll(saves.newer) + "x");
    const auto folder = OpenFolder(saves.path);
    if (load_first) CHECK(folder->Load("job").ok());
    const Strings third = {"third"};
    CHECK(folder->Save("job", AsParts(third)).ok());
    CHECK(kept == ReadAll(saves.older));
    CheckLoads(*folder, third, 2);
  }
}

TEST(CheckpointFolder, LeavesFilesOfANewerWeftAlone) {
  const TwoSaves saves;
  std::string newer = ReadAll(saves.older);
  newer.replace(8, 8, std::string("\x02\0\0\0\xFD\xFF\xFF\xFF", 8));  // version and complement
  for (const std::string& content : {newer, newer.substr(0, 16)}) {
    WriteAll(saves.older, content);
    const auto folder = OpenFolder(saves.path);
    for (const Status& status :
         {folder->Load("job").status(), folder->Save("job", AsParts(kOld))}) {
      CHECK(status.code() == StatusCode::kInvalidInput);
      STRCMP_CONTAINS("was written by a newer weft (format 2, this one knows 1)",
                      status.message().c_str());
    }
    CHECK(content == ReadAll(saves.older));
  }
}

TEST(CheckpointFolder, SurvivesAPowerCutAtEveryCall) {
  const Strings first = {"first"};
  for (const bool undo_renames : {false, true}) {
    bool completed = false;
    for (int cut = 0; !completed; ++cut) {
      CHECK(cut < 100);
      const TwoSaves saves;
      auto calls = std::make_unique<CutPower>(cut);
      CutPower& disk = *calls;
      const Strings third = {"third"};
      {
        const auto folder = OpenFolder(saves.path, std::move(calls));
        try {
          completed = folder->Save("job", AsParts(third)).ok();
        } catch (const PowerCut&) {
        }
        disk.LoseUnsynced(undo_renames);
      }
      const auto folder = OpenFolder(saves.path);
      const Result<train::StoredState> state = folder->Load("job");
      CHECK(state.ok());
      STRCMP_EQUAL("", state->fallback.c_str());
      if (completed) {
        CHECK(third == Content(*state));
      } else {
        CHECK(third == Content(*state) || kNew == Content(*state));
      }
      LONGS_EQUAL(3, FilesIn(saves.path));
      CHECK(folder->Save("job", AsParts(first)).ok());
      CHECK(first == Content(folder->Load("job").value()));
    }
  }
}

TEST(CheckpointFolder, SurvivesAFailureOfEveryCall) {
  const Strings third = {"third"};
  for (const int error : {ENOSPC, EIO}) {
    bool failed = true;
    for (int failing = 0; failed; ++failing) {
      CHECK(failing < 100);
      const TwoSaves saves;
      Status status;
      {
        auto calls = std::make_unique<OneFailingCall>(failing, error);
        const OneFailingCall& disk = *calls;
        const auto folder = OpenFolder(saves.path, std::move(calls));
        status = folder->Save("job", AsParts(third));
        failed = disk.failed();
      }
      LONGS_EQUAL(3, FilesIn(saves.path));
      CHECK_EQUAL(!failed, status.ok());
      const auto folder = OpenFolder(saves.path);
      const Result<train::StoredState> state = folder->Load("job");
      STRCMP_EQUAL("", state->fallback.c_str());
      const bool replaced = third == Content(*state);
      CHECK(replaced || kNew == Content(*state));
      if (!failed) {
        CHECK(replaced);
        continue;
      }
      CHECK(status.code() == StatusCode::kUnavailable);
      CheckIsOneSentence(status.message());
      STRCMP_CONTAINS(replaced ? "a power cut may bring the old file back"
                               : "what was there before is untouched",
                      status.message().c_str());
    }
  }
}

TEST(CheckpointFolder, SavesAgainAfterAFailure) {
  for (int failing = 0; failing < 10; ++failing) {
    const TwoSaves saves;
    const std::string kept = ReadAll(saves.newer);
    const auto folder = OpenFolder(saves.path, std::make_unique<OneFailingCall>(failing, EIO));
    CHECK_FALSE(folder->Save("job", AsParts(kOld)).ok());
    CHECK(folder->Save("job", AsParts(kOld)).ok());
    CheckLoads(*folder, kOld, 3);
    CHECK(kept == ReadAll(saves.newer));  // the last that was certain
  }
}

TEST(CheckpointFolder, KeepsTheStateBeforeIfTheDiskIsFull) {
  const TwoSaves saves;
  const std::string older = ReadAll(saves.older);
  const int status = InOtherProcess([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100'000, 100'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const Strings large = {std::string(50'000, 'x'), std::string(60'000, 'y')};
    const auto folder = OpenFolder(saves.path);
    const Status save = folder->Save("job", AsParts(large));
    if (save.message().find("File too large") == std::string::npos) return 2;
    return folder->Load("job")->generation == 2 ? 0 : 3;
  });
  CHECK(WIFEXITED(status));
  LONGS_EQUAL(0, WEXITSTATUS(status));
  LONGS_EQUAL(3, FilesIn(saves.path));
  CHECK(older == ReadAll(saves.older));
  CheckLoads(*OpenFolder(saves.path), kNew, 2);
}

TEST(CheckpointFolder, ClearsAwayWhatAKilledProcessLeft) {
  const TwoSaves saves;
  WriteAll(saves.path + "/notes.txt", "mine");
  const int status = InOtherProcess([&] {
    const auto folder = OpenFolder(saves.path, std::make_unique<KilledAtRename>());
    return folder->Save("job", AsParts(kOld)).ok() ? 0 : 1;
  });
  CHECK(WIFSIGNALED(status));
  LONGS_EQUAL(5, FilesIn(saves.path));
  CheckLoads(*OpenFolder(saves.path), kNew, 2);
  LONGS_EQUAL(4, FilesIn(saves.path));
  STRCMP_EQUAL("mine", ReadAll(saves.path + "/notes.txt").c_str());
}

TEST(CheckpointFolder, CopesWithInterruptedAndShortWrites) {
  const ScratchFolder scratch;
  const auto folder = OpenFolder(scratch.path(), std::make_unique<HaltingCalls>());
  CHECK(folder->Save("job", AsParts(kNew)).ok());
  CheckLoads(*folder, kNew, 1);
}

TEST(CheckpointFolder, IsOneProcessesAtATime) {
  const ScratchFolder scratch;
  const auto refused = [&] {
    const auto second = CheckpointFolder::Open(scratch.path());
    return second.status().code() == StatusCode::kUnavailable &&
           second.status().message().find("in use by another process") != std::string::npos;
  };
  {
    const auto folder = OpenFolder(scratch.path());
    CHECK(refused());
    LONGS_EQUAL(0, InOtherProcess([&] { return refused() ? 0 : 1; }));
  }
  CHECK_FALSE(refused());
}

TEST(CheckpointFolder, RefusesNamesThatWouldLeaveIt) {
  const ScratchFolder scratch;
  const auto folder = OpenFolder(scratch.path());
  for (const std::string& name : {std::string(), std::string("../job"), std::string("a/b"),
                                  std::string("Job"), std::string("a.b"), std::string(65, 'a')}) {
    CHECK(folder->Save(name, {}).code() == StatusCode::kInvalidInput);
    CHECK(folder->Load(name).status().code() == StatusCode::kInvalidInput);
  }
  CHECK(folder->Save("resnet18-cifar_2", {}).ok());
}

}  // namespace weft::apps
