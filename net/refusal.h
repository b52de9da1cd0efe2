// SPDX-License-Identifier: Apache-2.0
// Why a message was not taken. The numbers are part of the protocol and never change their
// meaning; docs/protocol.md lists what a worker does about each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace weft::net {

enum class Reason : uint16_t {
  kTooLarge = 1,
  kMalformed = 2,
  kUnsupportedVersion = 3,
  kWrongIdentity = 4,  // the topic is not the sender's
  kWrongJob = 5,
  kWrongModel = 6,
  kBadField = 7,
  kShapeMismatch = 8,
  kBadChecksum = 9,
  kNonFinite = 10,
  kNorm = 11,
  kStaleRound = 12,  // the round was closed without it
  kFutureRound = 13,
  kStaleEpoch = 14,     // the server has started again since
  kUnknownWorker = 15,  // say Hello first
  kSuperseded = 16,     // this worker has started again since
  kRetained = 17,
  kQuarantined = 18,
  kJobFull = 19,
  kAnotherServer = 20,
  kOverBudget = 21,  // more than the server reads of one worker
};
inline constexpr int kReasons = 22;  // reason numbers are below this

// "STALE_ROUND"; "UNKNOWN_REASON" for a number that is none.
std::string_view Name(Reason reason);

struct Refusal {
  Reason reason = Reason::kMalformed;
  std::string detail;  // one sentence for people
};

// "the server refused this worker (JOB_FULL): …". Unavailable: the job may have room later, and a
// server another version, so that whoever is refused may try again.
Status Refused(std::string_view what, const Refusal& refusal);

}  // namespace weft::net
