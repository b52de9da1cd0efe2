// SPDX-License-Identifier: Apache-2.0
// One direction of one iteration, as the planners see it, and the closed-form time of a plan.
//
// Positions 1..L are in time order: in the forward phase position i is unit i; in the backward
// phase, which runs from the last unit to the first, position i is unit L+1-i. Plans are kept
// in positions everywhere and turned into the paper's unit numbers once, at the interface.
#pragma once

#include <vector>

#include "sched/cost_profile.h"

namespace weft::sched {

// Costs by position, [L] each: entry i-1 is position i.
struct PhaseCosts {
  std::vector<Nanos> compute;
  std::vector<Nanos> transfer;
  Nanos overhead = 0;  // Δt, paid by each segment

  int length() const { return static_cast<int>(compute.size()); }
};

PhaseCosts ForwardPhase(const CostProfile& profile);
PhaseCosts BackwardPhase(const CostProfile& profile);

// Where segments begin and end: 0 = c0 < c1 < … < cn = L; segment j is positions c(j-1)+1..cj.
using Cuts = std::vector<int>;

struct PhasePlan {
  Cuts cuts;
  Nanos ns = 0;

  int segments() const { return static_cast<int>(cuts.size()) - 1; }
};

// Sums of the first i entries, [L+1], entry 0 is 0.
std::vector<Nanos> PrefixSums(const std::vector<Nanos>& values);

// Forward: segments arrive back to back and a segment computes once it is wholly there.
Nanos ForwardNs(const PhaseCosts& costs, const Cuts& cuts);
// Backward: a segment leaves once it is wholly computed and the one before has left.
Nanos BackwardNs(const PhaseCosts& costs, const Cuts& cuts);

// The same phase run backwards in time. A forward plan is the backward plan of the reversed
// phase with reversed cuts, and takes as long: critical paths are the same read from the end.
PhaseCosts Reversed(const PhaseCosts& costs);
Cuts Reversed(const Cuts& cuts);

// Backward cuts as the paper writes them, [L+1, …, 1]: position c is "after unit L+1-c".
std::vector<int> BackwardCutsAsUnits(const Cuts& cuts);

}  // namespace weft::sched
