// SPDX-License-Identifier: Apache-2.0
#include "sched/runtime/transfers.h"

#include <cassert>

namespace weft::sched {
namespace {

constexpr int64_t kFloat = sizeof(float);

// Slices end between floats, and none is empty.
std::vector<int64_t> FloatEnds(const std::vector<Slice>& slices, std::vector<size_t>& index_of) {
  std::vector<int64_t> ends;
  int64_t bytes = 0;
  for (const Slice& slice : slices) {
    bytes += slice.bytes;
    const int64_t end = bytes / kFloat;
    if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
    index_of.push_back(ends.empty() ? 0 : ends.size() - 1);
  }
  return ends;
}

}  // namespace

TransferPlan TransfersOf(const CostProfile& profile, const IterationPlan& plan) {
  std::vector<int64_t> before = {0};  // floats before each unit
  for (const UnitCost& unit : profile.units) before.push_back(before.back() + unit.bytes / kFloat);
  TransferPlan transfers;
  if (plan.weave) {
    std::vector<size_t> index_of;
    transfers.push_ends = FloatEnds(plan.weave->slices, index_of);
    transfers.pull_ends = transfers.push_ends;
    if (plan.weave->push_order.empty()) return transfers;
    transfers.push_turns.assign(transfers.push_ends.size(), 0);
    int64_t turn = 0;
    for (const int slice : plan.weave->push_order) {
      transfers.push_turns[index_of[static_cast<size_t>(slice)]] = turn++;
    }
    return transfers;
  }
  const auto add = [&](std::vector<int64_t>& ends, int unit) {
    const int64_t end = before[static_cast<size_t>(unit)];
    if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
  };
  for (const int cut : plan.forward.cuts) add(transfers.pull_ends, cut);
  const int length = profile.unit_count();
  for (auto cut = plan.backward.cuts.rbegin(); cut != plan.backward.cuts.rend(); ++cut) {
    add(transfers.push_ends, length - *cut);
  }
  if (plan.strategy == Strategy::kWeave) return transfers;  // what is needed first goes first
  // First come, first served; backward comes from the end.
  for (size_t i = 0; i < transfers.push_ends.size(); ++i) {
    transfers.push_turns.push_back(static_cast<int64_t>(transfers.push_ends.size() - i));
  }
  return transfers;
}

int PushSegments(const IterationPlan& plan) {
  return plan.weave ? static_cast<int>(plan.weave->slices.size()) : plan.backward.segments();
}

int PullSegments(const IterationPlan& plan) {
  return plan.weave ? static_cast<int>(plan.weave->slices.size()) : plan.forward.segments();
}

}  // namespace weft::sched
