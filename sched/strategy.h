// SPDX-License-Identifier: Apache-2.0
// The strategies by name, and the plan each makes for a whole iteration.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sched/phase.h"
#include "sched/simulator.h"
#include "sched/weave.h"

namespace weft::sched {

enum class Strategy {
  kSequential,
  kLayerByLayer,
  kIbatch,
  kDynacomm,
  kWeave,
  kDynacommPaper,  // dynacomm by the paper's own O(L³) algorithms
  kDynacommHops,   // dynacomm that knows of the broker hop
};

// The five a job can run with, in the order reports list them.
std::vector<Strategy> JobStrategies();
std::vector<Strategy> AllStrategies();

std::string_view Name(Strategy strategy);
// Refuses a name that is not among those `known` with a sentence that lists them.
Result<Strategy> ParseStrategy(std::string_view name,
                               const std::vector<Strategy>& known = AllStrategies());

// What a strategy does with one iteration of `profile`.
struct IterationPlan {
  Strategy strategy = Strategy::kSequential;
  // Weave has no barrier between rounds: its cuts are where slices end on a unit's border, and
  // its times are the simulator's. Where `weave` is empty it follows segments as dynacomm does.
  PhasePlan forward = {};
  PhasePlan backward = {};
  Nanos iteration_ns = 0;
  std::optional<WeavePlan> weave = {};
};

// `profile` must be valid. Refuses kDynacommPaper and kDynacommHops beyond what they can plan in
// reasonable time. `places` are where weave's slices may end; see PlanWeave.
Result<IterationPlan> PlanIteration(Strategy strategy, const CostProfile& profile,
                                    std::span<const int64_t> places = {});

// What `plan`, made for another profile of the same units, takes with this one.
Nanos IterationNs(const CostProfile& profile, const IterationPlan& plan);

// What happens in one round of it, from the end of one backward, at 0, to that of the next; spans
// of that round are of round 0.
std::vector<Span> PredictRound(const CostProfile& profile, const IterationPlan& plan);

// The messages of `plan`, for the simulator.
Schedule ScheduleOf(const CostProfile& profile, const IterationPlan& plan);

}  // namespace weft::sched
