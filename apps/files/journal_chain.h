// SPDX-License-Identifier: Apache-2.0
// Finds the journals of a folder that lead on from a checkpoint, and reads them in order. They are
// named journal-<round> after the checkpoint they follow. Usually one follows the newest
// checkpoint; where that is lost, those since the one before lead through the lost one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/files/journal_file.h"
#include "cloud_ps/keeper.h"
#include "core/status.h"

namespace weft::apps {

std::string JournalPath(const std::string& folder, int64_t round);

struct JournalName {
  std::string path;
  int64_t round = 0;
};

// By round. Unavailable: the folder cannot be read.
Result<std::vector<JournalName>> ListJournals(const std::string& folder);

// Removes journals of rounds before `before_round`, and what a killed process left unfinished.
// Space is all that is lost where the disk does not allow it.
void RemoveJournals(const std::string& folder, int64_t before_round, FileCalls& calls);

struct JournalChain {
  uint64_t records = 0;              // since the checkpoint, in all its journals
  uint64_t newest_checkpoint = 0;    // the largest number that any journal knows
  std::string last_path = {};        // of the journal that reaches furthest; empty if there is none
  JournalTail last = {};             // how far it is good
  std::vector<std::string> useless;  // journals that lead nowhere now, but might seem to later
  std::string damage = {};           // empty, or a sentence for people: what was left out, and why
};

// Gives every record after the checkpoint `from`, for a server's part of `floats`, in the order in
// which they were written; of records of the same round and slice, the first. Changes nothing on
// the disk. Unavailable: the disk fails. InvalidInput: a journal is of a newer weft. Any other
// failure is what `record` answered.
Result<JournalChain> ReadJournals(const std::string& folder, int64_t floats,
                                  const JournalStart& from,
                                  const std::function<Status(const ps::JournalRecord&)>& record);

}  // namespace weft::apps
