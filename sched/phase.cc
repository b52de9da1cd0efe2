// SPDX-License-Identifier: Apache-2.0
#include "sched/phase.h"

#include <algorithm>
#include <cassert>

namespace weft::sched {
namespace {

void AssertCuts(const PhaseCosts& costs, const Cuts& cuts) {
  assert(cuts.size() >= 2 && cuts.front() == 0 && cuts.back() == costs.length());
  assert(std::is_sorted(cuts.begin(), cuts.end(), std::less_equal<>()));
}

Nanos SumOf(const std::vector<Nanos>& values, int from, int to) {
  Nanos sum = 0;
  for (int i = from; i < to; ++i) sum += values[i];
  return sum;
}

}  // namespace

PhaseCosts ForwardPhase(const CostProfile& profile) {
  PhaseCosts costs;
  costs.overhead = profile.pull_overhead_ns;
  for (const UnitCost& unit : profile.units) {
    costs.compute.push_back(unit.forward_ns);
    costs.transfer.push_back(unit.pull_ns);
  }
  return costs;
}

PhaseCosts BackwardPhase(const CostProfile& profile) {
  PhaseCosts costs;
  costs.overhead = profile.push_overhead_ns;
  for (auto unit = profile.units.rbegin(); unit != profile.units.rend(); ++unit) {
    costs.compute.push_back(unit->backward_ns);
    costs.transfer.push_back(unit->push_ns);
  }
  return costs;
}

std::vector<Nanos> PrefixSums(const std::vector<Nanos>& values) {
  std::vector<Nanos> sums(values.size() + 1, 0);
  for (size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + values[i];
  return sums;
}

Nanos ForwardNs(const PhaseCosts& costs, const Cuts& cuts) {
  AssertCuts(costs, cuts);
  Nanos link_free = 0;
  Nanos computed = 0;
  for (size_t j = 1; j < cuts.size(); ++j) {
    link_free += costs.overhead + SumOf(costs.transfer, cuts[j - 1], cuts[j]);
    computed = std::max(computed, link_free) + SumOf(costs.compute, cuts[j - 1], cuts[j]);
  }
  return computed;
}

Nanos BackwardNs(const PhaseCosts& costs, const Cuts& cuts) {
  AssertCuts(costs, cuts);
  Nanos link_free = 0;
  Nanos computed = 0;
  for (size_t j = 1; j < cuts.size(); ++j) {
    computed += SumOf(costs.compute, cuts[j - 1], cuts[j]);
    link_free = std::max(link_free, computed) + costs.overhead +
                SumOf(costs.transfer, cuts[j - 1], cuts[j]);
  }
  return link_free;
}

PhaseCosts Reversed(const PhaseCosts& costs) {
  return {.compute = {costs.compute.rbegin(), costs.compute.rend()},
          .transfer = {costs.transfer.rbegin(), costs.transfer.rend()},
          .overhead = costs.overhead};
}

Cuts Reversed(const Cuts& cuts) {
  Cuts reversed;
  reversed.reserve(cuts.size());
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) reversed.push_back(cuts.back() - *cut);
  return reversed;
}

std::vector<int> BackwardCutsAsUnits(const Cuts& cuts) {
  std::vector<int> units;
  units.reserve(cuts.size());
  for (int cut : cuts) units.push_back(cuts.back() + 1 - cut);
  return units;
}

}  // namespace weft::sched
