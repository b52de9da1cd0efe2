// SPDX-License-Identifier: Apache-2.0
#include "apps/files/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/files/checkpoint_file.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;
using State = CheckpointFile::State;

constexpr std::string_view kSuffix = ".checkpoint";

Status CheckName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), fits)) {
    return Status::Ok();
  }
  return Status::InvalidInput("'" + std::string(name.substr(0, 64)) +
                              "' cannot name a checkpoint; use 1 to 64 of a-z, 0-9, '-' and '_'");
}

Status CannotUse(const std::string& folder, int error) {
  return Status::Unavailable("cannot use checkpoint folder " + folder + ": " +
                             std::generic_category().message(error));
}

// Makes `folder` and what is missing above it, so that a power cut does not take them away again.
// 0, or an errno.
int MakeFolder(const fs::path& folder, FileCalls& calls) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return 0;
  const fs::path above = folder.parent_path();
  if (!above.empty() && above != folder) {
    if (const int error = MakeFolder(above, calls); error != 0) return error;
  }
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return errno;
  if (!fs::is_directory(folder, ignored)) return ENOTDIR;
  return SyncFolder(above.string(), calls);
}

void RemoveUnfinished(const std::string& folder, FileCalls& calls) {
  std::error_code ignored;
  std::vector<std::string> unfinished;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.find(std::string(kSuffix) + ".") != std::string::npos;
    if (ours && name.ends_with(kUnfinishedSuffix)) unfinished.push_back(entry.path().string());
  }
  for (const std::string& path : unfinished) calls.Remove(path);
}

}  // namespace

Result<std::unique_ptr<CheckpointFolder>> CheckpointFolder::Open(const std::string& folder,
                                                                 std::unique_ptr<FileCalls> calls) {
  std::error_code ignored;
  fs::path path = fs::absolute(folder.empty() ? "." : folder, ignored);
  if (!path.has_filename()) path = path.parent_path();  // it was written with a slash at its end
  if (const int error = MakeFolder(path, *calls); error != 0) return CannotUse(folder, error);

  const std::string lock_path = (path / "lock").string();
  Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock.open()) return CannotUse(folder, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return CannotUse(folder, errno);
    return Status::Unavailable("checkpoint folder " + folder +
                               " is in use by another process; stop it or give another folder");
  }
  RemoveUnfinished(path.string(), *calls);
  return std::unique_ptr<CheckpointFolder>(
      new CheckpointFolder(path.string(), std::move(lock), std::move(calls)));
}

std::string CheckpointFolder::SlotPath(std::string_view name, int slot) const {
  return folder_ + "/" + std::string(name) + "." + std::to_string(slot) + std::string(kSuffix);
}

// What the two files of a name amount to.
struct CheckpointFolder::Survey {
  std::optional<Newest> newest;
  train::StoredState content;  // of the newest, if it was wanted
  std::string complaints;      // about files that had to be passed over
  bool newer_format = false;   // one of them is not ours to judge
  bool unreadable = false;     // one of them may be good
};

CheckpointFolder::Survey CheckpointFolder::Look(std::string_view name, bool want_content) const {
  Survey survey;
  const auto complain = [&](const std::string& sentence) {
    survey.complaints += (survey.complaints.empty() ? "" : "; ") + sentence;
  };
  std::vector<std::pair<int, CheckpointFile>> plausible;
  for (int slot = 0; slot < 2; ++slot) {
    CheckpointFile file = CheckpointFile::Open(SlotPath(name, slot));
    if (file.state() == State::kPlausible) {
      plausible.emplace_back(slot, std::move(file));
    } else if (file.state() != State::kAbsent) {
      survey.newer_format |= file.state() == State::kNewerFormat;
      survey.unreadable |= file.state() == State::kUnreadable;
      complain(file.sentence());
    }
  }
  std::sort(plausible.begin(), plausible.end(), [](const auto& a, const auto& b) {
    return a.second.generation() > b.second.generation();
  });
  for (const auto& [slot, file] : plausible) {
    Status status;
    if (want_content) {
      Result<train::StoredState> content = file.Read();
      status = content.status();
      if (content.ok()) survey.content = std::move(content).value();
    } else {
      status = file.Verify();
    }
    if (status.ok()) {
      survey.newest = Newest{slot, file.generation()};
      break;
    }
    survey.unreadable |= status.code() == StatusCode::kUnavailable;
    complain(status.message());
  }
  return survey;
}

Status CheckpointFolder::Save(std::string_view name,
                              std::span<const std::span<const std::byte>> parts) {
  if (Status status = CheckName(name); !status.ok()) return status;
  auto known = known_.find(name);
  if (known == known_.end()) {
    const Survey survey = Look(name, /*want_content=*/false);
    if (survey.newer_format) return Status::InvalidInput(survey.complaints);
    // Nothing certain to keep, and something that may be worth keeping.
    if (survey.unreadable && !survey.newest) return Status::Unavailable(survey.complaints);
    known = known_.emplace(name, survey.newest).first;
  }
  const std::optional<Newest> before = known->second;
  const Newest next = before ? Newest{1 - before->slot, before->generation + 1} : Newest{0, 1};
  Status status = WriteCheckpointFile(SlotPath(name, next.slot), next.generation, parts, *calls_);
  // A save that failed at its very end may have left its file. The next one replaces that again,
  // rather than the last that is certain to be on the disk.
  if (status.ok()) known->second = next;
  return status;
}

Result<train::StoredState> CheckpointFolder::Load(std::string_view name) {
  if (Status status = CheckName(name); !status.ok()) return status;
  Survey survey = Look(name, /*want_content=*/true);
  if (survey.newer_format) return Status::InvalidInput(survey.complaints);
  if (survey.newest) {
    known_.insert_or_assign(std::string(name), survey.newest);
    if (!survey.complaints.empty()) {
      survey.content.fallback = survey.complaints + "; going back to generation " +
                                std::to_string(survey.newest->generation) + " in " +
                                SlotPath(name, survey.newest->slot);
    }
    return std::move(survey.content);
  }
  if (survey.unreadable) return Status::Unavailable(survey.complaints);
  if (!survey.complaints.empty()) return Status::InvalidInput(survey.complaints);
  return Status::NotFound("nothing is saved as '" + std::string(name) + "' in " + folder_);
}

}  // namespace weft::apps
