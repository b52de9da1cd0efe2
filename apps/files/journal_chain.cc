// SPDX-License-Identifier: Apache-2.0
#include "apps/files/journal_chain.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "journal-";

using SliceKey = std::tuple<int64_t, int64_t, int64_t>;  // round, begin, end

void Complain(const std::string& sentence, std::string& complaints) {
  complaints += (complaints.empty() ? "" : "; ") + sentence;
}

// Calls see(name) for every file that is named as our journals begin.
template <typename See>
Status ForNames(const std::string& folder, const See& see) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix)) see(name);
  }
  if (!error) return Status::Ok();
  return Status::Unavailable("cannot read folder " + folder + ": " + error.message());
}

// Gives the records of one journal, except those that are `given` already.
Status ReadOne(JournalReader& journal, std::set<SliceKey>& given,
               const std::function<Status(const ps::JournalRecord&)>& record) {
  while (true) {
    Result<std::optional<ps::JournalRecord>> next = journal.Next();
    if (!next.ok()) return next.status();
    if (!next->has_value()) return Status::Ok();
    const ps::JournalRecord& found = **next;
    if (!given.insert({found.round, found.slice.begin, found.slice.end}).second) continue;
    if (Status status = record(found); !status.ok()) return status;
  }
}

}  // namespace

std::string JournalPath(const std::string& folder, int64_t round) {
  return folder + "/" + std::string(kPrefix) + std::to_string(round);
}

Result<std::vector<JournalName>> ListJournals(const std::string& folder) {
  std::vector<JournalName> journals;
  const Status status = ForNames(folder, [&](const std::string& name) {
    int64_t round = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), round);
    const std::string path = JournalPath(folder, round);
    if (path == folder + "/" + name) journals.push_back({path, round});
  });
  if (!status.ok()) return status;
  std::sort(journals.begin(), journals.end(),
            [](const JournalName& a, const JournalName& b) { return a.round < b.round; });
  return journals;
}

void RemoveJournals(const std::string& folder, int64_t before_round, FileCalls& calls) {
  std::vector<std::string> paths;
  const Status ignored = ForNames(folder, [&](const std::string& name) {
    if (name.ends_with(kUnfinishedSuffix)) paths.push_back(folder + "/" + name);
  });
  if (const Result<std::vector<JournalName>> journals = ListJournals(folder); journals.ok()) {
    for (const JournalName& journal : *journals) {
      if (journal.round < before_round) paths.push_back(journal.path);
    }
  }
  for (const std::string& path : paths) calls.Remove(path);
}

Result<JournalChain> ReadJournals(const std::string& folder, int64_t floats,
                                  const JournalStart& from,
                                  const std::function<Status(const ps::JournalRecord&)>& record) {
  Result<std::vector<JournalName>> names = ListJournals(folder);
  if (!names.ok()) return names.status();
  JournalChain chain;
  std::string dropped;  // about the end of the last journal that was used
  std::set<SliceKey> given;
  for (const JournalName& name : *names) {
    Result<JournalReader> journal = JournalReader::Open(name.path, floats);
    if (!journal.ok()) return journal.status();
    const std::optional<JournalStart>& start = journal->start();
    if (start) chain.newest_checkpoint = std::max(chain.newest_checkpoint, start->checkpoint);
    if (start ? start->checkpoint < from.checkpoint : name.round < from.round) continue;

    // A later checkpoint's journal goes on only where everything before that checkpoint is known.
    const bool follows = start && start->round == name.round &&
                         (*start == from || (start->checkpoint > from.checkpoint &&
                                             start->before_checkpoint == from.checkpoint &&
                                             start->before_records == chain.records));
    if (!follows) {
      chain.useless.push_back(name.path);
      Complain(
          name.path + (start ? " is left out: records between it and the checkpoint are missing"
                             : " is left out: it is damaged from its beginning"),
          chain.damage);
      continue;
    }
    if (Status status = ReadOne(*journal, given, record); !status.ok()) return status;
    chain.records += journal->tail().records;
    chain.last_path = name.path;
    chain.last = journal->tail();
    dropped = journal->dropped_bytes() == 0
                  ? ""
                  : "the last " + std::to_string(journal->dropped_bytes()) + " bytes of " +
                        name.path + " are left out: they are cut off or damaged";
  }
  if (!dropped.empty()) Complain(dropped, chain.damage);
  return chain;
}

}  // namespace weft::apps
