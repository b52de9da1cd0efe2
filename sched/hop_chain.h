// SPDX-License-Identifier: Apache-2.0
// Planning across store-and-forward hops: an MQTT broker takes in a whole publish before it
// passes it on, so a segment occupies every hop of the way in turn. Exact for any number of
// hops; with one hop it is DynaComm's problem.
#pragma once

#include "sched/phase.h"

namespace weft::sched {

// One line on the way, by position, [L].
struct Hop {
  std::vector<Nanos> transfer;
  Nanos overhead = 0;
};

// A phase whose segments cross `hops`, listed in the order of travel.
struct ChainCosts {
  std::vector<Nanos> compute;  // by position, [L]
  std::vector<Hop> hops;

  int length() const { return static_cast<int>(compute.size()); }
};

// Down: broker, link, compute. Up: compute, link, broker. One hop where there is no broker.
ChainCosts ForwardChain(const CostProfile& profile);
ChainCosts BackwardChain(const CostProfile& profile);

// The closed-form time of a plan.
Nanos ForwardChainNs(const ChainCosts& costs, const Cuts& cuts);
Nanos BackwardChainNs(const ChainCosts& costs, const Cuts& cuts);

// More units than this take seconds to plan; callers should not start.
inline constexpr int kMaxChainUnits = 1000;

// The least time, and of the plans that take it one with the fewest segments.
PhasePlan PlanForwardChain(const ChainCosts& costs);
PhasePlan PlanBackwardChain(const ChainCosts& costs);

}  // namespace weft::sched
