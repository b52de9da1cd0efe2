// SPDX-License-Identifier: Apache-2.0
// A label is one way to send the first m positions: the time each hop becomes free, and the
// number of segments. A label that is no better than another in any of these can be forgotten
// (a later hop never gains from an earlier one being busier), so each prefix keeps the
// Pareto-minimal labels. The best single-hop-style plan gives a deadline that prunes most.
#include "sched/hop_chain.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "core/arena.h"
#include "sched/dynacomm.h"

namespace weft::sched {
namespace {

struct Label {
  const Nanos* free = nullptr;  // [hops]
  int segments = 0;
  int cut = 0;  // where the last segment begins
  const Label* before = nullptr;
};

class ChainSolver {
 public:
  explicit ChainSolver(const ChainCosts& costs)
      : length_(costs.length()), hops_(costs.hops.size()), C_(PrefixSums(costs.compute)) {
    for (const Hop& hop : costs.hops) {
      G_.push_back(PrefixSums(hop.transfer));
      overhead_.push_back(hop.overhead);
    }
  }

  // The least time, knowing that `deadline` can be met.
  Nanos LeastNs(Nanos deadline) {
    return Solve(deadline, /*count_segments=*/false)->free[hops_ - 1];
  }

  // The fewest segments that meet `deadline`, which must be reachable.
  Cuts FewestCuts(Nanos deadline) {
    Cuts cuts = {length_};
    const Label* label = Solve(deadline, /*count_segments=*/true);
    for (; label->before != nullptr; label = label->before) cuts.push_back(label->cut);
    std::reverse(cuts.begin(), cuts.end());
    return cuts;
  }

 private:
  // Best label of the whole phase: least time, or fewest segments if they are counted.
  const Label* Solve(Nanos deadline, bool count_segments) {
    arena_.Reset();
    fronts_.assign(length_ + 1, {});
    const std::span<Nanos> idle = arena_.Take<Nanos>(hops_);
    std::fill(idle.begin(), idle.end(), 0);
    fronts_[0].push_back(Keep({.free = idle.data()}));
    std::vector<Nanos> free(hops_);
    for (int m = 1; m <= length_; ++m) {
      for (int k = 0; k < m; ++k) {
        for (const Label* label : fronts_[k]) {
          Send(*label, k, m, free);
          if (EarliestEnd(free, m) > deadline) continue;
          const int segments = count_segments ? label->segments + 1 : 0;
          if (!Enters(fronts_[m], free, segments)) continue;
          const std::span<Nanos> kept = arena_.Take<Nanos>(hops_);
          std::copy(free.begin(), free.end(), kept.begin());
          fronts_[m].push_back(
              Keep({.free = kept.data(), .segments = segments, .cut = k, .before = label}));
        }
      }
    }
    assert(!fronts_[length_].empty());
    const auto better = [&](const Label* a, const Label* b) {
      if (count_segments && a->segments != b->segments) return a->segments < b->segments;
      return a->free[hops_ - 1] < b->free[hops_ - 1];
    };
    return *std::min_element(fronts_[length_].begin(), fronts_[length_].end(), better);
  }

  const Label* Keep(const Label& label) {
    Label* kept = arena_.Take<Label>(1).data();
    *kept = label;
    return kept;
  }

  // When each hop is free again after the segment (k, m] has followed `label`.
  void Send(const Label& label, int k, int m, std::vector<Nanos>& free) const {
    Nanos ready = C_[m];
    for (size_t h = 0; h < hops_; ++h) {
      ready = std::max(ready, label.free[h]) + overhead_[h] + G_[h][m] - G_[h][k];
      free[h] = ready;
    }
  }

  // No plan that goes on from `free` after m positions can end before this: hop h still has the
  // rest to carry, and what it carries last has the later hops to cross.
  Nanos EarliestEnd(const std::vector<Nanos>& free, int m) const {
    Nanos end = free[hops_ - 1];
    if (m == length_) return end;
    Nanos tail = 0;  // what the last position needs on the hops after h
    for (size_t h = hops_; h-- > 0;) {
      end = std::max(end, free[h] + overhead_[h] + G_[h][length_] - G_[h][m] + tail);
      tail += overhead_[h] + G_[h][length_] - G_[h][length_ - 1];
    }
    return std::max(end, C_[length_] + tail);
  }

  // Whether nothing in `front` is as good; then also drops from it what the new label beats.
  bool Enters(std::vector<const Label*>& front, const std::vector<Nanos>& free,
              int segments) const {
    const auto no_worse = [&](const Nanos* a, int a_segments, const Nanos* b, int b_segments) {
      if (a_segments > b_segments) return false;
      for (size_t h = 0; h < hops_; ++h) {
        if (a[h] > b[h]) return false;
      }
      return true;
    };
    for (const Label* label : front) {
      if (no_worse(label->free, label->segments, free.data(), segments)) return false;
    }
    std::erase_if(front, [&](const Label* label) {
      return no_worse(free.data(), segments, label->free, label->segments);
    });
    return true;
  }

  int length_;
  size_t hops_;
  std::vector<Nanos> C_;               // [L+1]
  std::vector<std::vector<Nanos>> G_;  // [hops][L+1]
  std::vector<Nanos> overhead_;        // [hops]
  Arena arena_{1 << 20};
  std::vector<std::vector<const Label*>> fronts_;  // [L+1]
};

ChainCosts Reversed(const ChainCosts& costs) {
  ChainCosts reversed{.compute = {costs.compute.rbegin(), costs.compute.rend()}, .hops = {}};
  for (auto hop = costs.hops.rbegin(); hop != costs.hops.rend(); ++hop) {
    reversed.hops.push_back(
        {.transfer = {hop->transfer.rbegin(), hop->transfer.rend()}, .overhead = hop->overhead});
  }
  return reversed;
}

Hop BrokerHopByPosition(const CostProfile& profile, bool last_unit_first) {
  Hop hop{.transfer = {}, .overhead = profile.broker->overhead_ns};
  for (const UnitCost& unit : profile.units) {
    hop.transfer.push_back(TransferNs(unit.bytes, profile.broker->bytes_per_s));
  }
  if (last_unit_first) std::reverse(hop.transfer.begin(), hop.transfer.end());
  return hop;
}

}  // namespace

ChainCosts ForwardChain(const CostProfile& profile) {
  PhaseCosts phase = ForwardPhase(profile);
  ChainCosts chain{.compute = std::move(phase.compute), .hops = {}};
  if (profile.broker) chain.hops.push_back(BrokerHopByPosition(profile, false));
  chain.hops.push_back({.transfer = std::move(phase.transfer), .overhead = phase.overhead});
  return chain;
}

ChainCosts BackwardChain(const CostProfile& profile) {
  PhaseCosts phase = BackwardPhase(profile);
  ChainCosts chain{.compute = std::move(phase.compute), .hops = {}};
  chain.hops.push_back({.transfer = std::move(phase.transfer), .overhead = phase.overhead});
  if (profile.broker) chain.hops.push_back(BrokerHopByPosition(profile, true));
  return chain;
}

Nanos BackwardChainNs(const ChainCosts& costs, const Cuts& cuts) {
  assert(cuts.size() >= 2 && cuts.front() == 0 && cuts.back() == costs.length());
  std::vector<Nanos> free(costs.hops.size(), 0);
  Nanos computed = 0;
  for (size_t j = 1; j < cuts.size(); ++j) {
    for (int i = cuts[j - 1]; i < cuts[j]; ++i) computed += costs.compute[i];
    Nanos ready = computed;
    for (size_t h = 0; h < costs.hops.size(); ++h) {
      ready = std::max(ready, free[h]) + costs.hops[h].overhead;
      for (int i = cuts[j - 1]; i < cuts[j]; ++i) ready += costs.hops[h].transfer[i];
      free[h] = ready;
    }
  }
  return free.back();
}

Nanos ForwardChainNs(const ChainCosts& costs, const Cuts& cuts) {
  assert(cuts.size() >= 2 && cuts.front() == 0 && cuts.back() == costs.length());
  std::vector<Nanos> free(costs.hops.size(), 0);
  Nanos computed = 0;
  for (size_t j = 1; j < cuts.size(); ++j) {
    Nanos ready = 0;
    for (size_t h = 0; h < costs.hops.size(); ++h) {
      ready = std::max(ready, free[h]) + costs.hops[h].overhead;
      for (int i = cuts[j - 1]; i < cuts[j]; ++i) ready += costs.hops[h].transfer[i];
      free[h] = ready;
    }
    computed = std::max(computed, ready);
    for (int i = cuts[j - 1]; i < cuts[j]; ++i) computed += costs.compute[i];
  }
  return computed;
}

PhasePlan PlanBackwardChain(const ChainCosts& costs) {
  assert(!costs.hops.empty());
  // Any plan's time is a deadline that can be met; the best plans for each hop alone are close.
  Nanos deadline = BackwardChainNs(costs, {0, costs.length()});
  for (const Hop& hop : costs.hops) {
    const PhasePlan alone = PlanDynacommBackward(
        {.compute = costs.compute, .transfer = hop.transfer, .overhead = hop.overhead});
    deadline = std::min(deadline, BackwardChainNs(costs, alone.cuts));
  }
  ChainSolver solver(costs);
  const Nanos ns = solver.LeastNs(deadline);
  return {.cuts = solver.FewestCuts(ns), .ns = ns};
}

PhasePlan PlanForwardChain(const ChainCosts& costs) {
  const PhasePlan plan = PlanBackwardChain(Reversed(costs));
  return {.cuts = Reversed(plan.cuts), .ns = plan.ns};
}

}  // namespace weft::sched
