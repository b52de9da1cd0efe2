// SPDX-License-Identifier: Apache-2.0
#include "net/refusal.h"

namespace weft::net {

std::string_view Name(Reason reason) {
  switch (reason) {
    case Reason::kTooLarge:
      return "TOO_LARGE";
    case Reason::kMalformed:
      return "MALFORMED";
    case Reason::kUnsupportedVersion:
      return "UNSUPPORTED_VERSION";
    case Reason::kWrongIdentity:
      return "WRONG_IDENTITY";
    case Reason::kWrongJob:
      return "WRONG_JOB";
    case Reason::kWrongModel:
      return "WRONG_MODEL";
    case Reason::kBadField:
      return "BAD_FIELD";
    case Reason::kShapeMismatch:
      return "SHAPE_MISMATCH";
    case Reason::kBadChecksum:
      return "BAD_CHECKSUM";
    case Reason::kNonFinite:
      return "NON_FINITE";
    case Reason::kNorm:
      return "NORM";
    case Reason::kStaleRound:
      return "STALE_ROUND";
    case Reason::kFutureRound:
      return "FUTURE_ROUND";
    case Reason::kStaleEpoch:
      return "STALE_EPOCH";
    case Reason::kUnknownWorker:
      return "UNKNOWN_WORKER";
    case Reason::kSuperseded:
      return "SUPERSEDED";
    case Reason::kRetained:
      return "RETAINED";
    case Reason::kQuarantined:
      return "QUARANTINED";
    case Reason::kJobFull:
      return "JOB_FULL";
    case Reason::kAnotherServer:
      return "ANOTHER_SERVER";
    case Reason::kOverBudget:
      return "OVER_BUDGET";
  }
  return "UNKNOWN_REASON";
}

Status Refused(std::string_view what, const Refusal& refusal) {
  return Status::Unavailable("the server refused " + std::string(what) + " (" +
                             std::string(Name(refusal.reason)) + "): " + refusal.detail);
}

}  // namespace weft::net
