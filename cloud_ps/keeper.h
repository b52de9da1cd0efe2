// SPDX-License-Identifier: Apache-2.0
// The seam for what a server must not lose. Every slice that is summed is appended to a journal
// before the next round may touch it, and now and then the whole state is checkpointed, which
// makes the journal before it unnecessary. Both take their time: the keeper works on its own and
// reports when it is done.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "net/wire_layout.h"

namespace weft::ps {

struct Contribution {
  std::string worker = {};
  uint32_t weight = 0;

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

// One slice of one round, summed: enough to do the update again.
struct JournalRecord {
  int64_t round = 0;
  net::FloatRange slice = {};                    // in the server's own part of the model
  std::span<const float> mean = {};              // [slice]: gradients and statistics
  std::vector<Contribution> contributions = {};  // in the order in which they were added
};

// Everything at the beginning of `round`.
struct Snapshot {
  int64_t round = 0;
  std::span<const float> values = {};           // [floats]
  std::span<const float> optimizer_state = {};  // [state per parameter][floats]
  // [floats] of the round before, which another server of the job may still be at; or empty.
  std::span<const float> older_values = {};
};

struct KeptEvent {
  enum class Kind { kAppended, kCheckpointed };
  Kind kind = Kind::kAppended;
  int64_t round = 0;
  net::FloatRange slice = {};  // of an append
  Status status = {};          // Unavailable: it is not kept, and the sentence says why
};

// Thread: the server's.
class Keeper {
 public:
  virtual ~Keeper() = default;

  // What the spans look at must not change until the event for it was returned by Poll. Appends
  // are kept in order; a checkpoint covers every append before it. After a failure of either,
  // appends are refused until a checkpoint succeeds.
  virtual void Append(const JournalRecord& record) = 0;
  virtual void Checkpoint(const Snapshot& snapshot) = 0;

  // What was finished since the last call, in order.
  virtual std::vector<KeptEvent> Poll() = 0;
};

// What was found at the start. Snapshot first, if there is one, then the records after it, in
// order; the spans are valid during the call only. A function's Status ends the reading.
struct Recovery {
  std::function<Status(const Snapshot&)> snapshot;
  std::function<Status(const JournalRecord&)> record;
};

}  // namespace weft::ps
