// SPDX-License-Identifier: Apache-2.0
#include "sched/runtime/profiler.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::sched {
namespace {

std::array<double, 3> Sums(const CostProfile& profile) {
  std::array<double, 3> sums = {0, static_cast<double>(profile.push_overhead_ns),
                                static_cast<double>(profile.pull_overhead_ns)};
  for (const UnitCost& unit : profile.units) {
    sums[0] += static_cast<double>(unit.forward_ns + unit.backward_ns);
    sums[1] += static_cast<double>(unit.push_ns);
    sums[2] += static_cast<double>(unit.pull_ns);
  }
  return sums;
}

}  // namespace

Profiler::Profiler(std::vector<Unit> units, int64_t message_bytes)
    : units_(std::move(units)),
      message_bytes_(std::max<int64_t>(message_bytes, 1)),
      times_(static_cast<int>(units_.size())) {}

void Profiler::EndRound(std::span<const Nanos> forward, std::span<const Nanos> backward,
                        Nanos round_trip_ns) {
  times_.Add(forward, backward);
  up_.EndRound();
  down_.EndRound();
  round_trip_ns_ = round_trip_ns;
}

std::optional<CostProfile> Profiler::Profile() const {
  const std::optional<LinkCost> up = up_.Fit();
  const std::optional<LinkCost> down = down_.Fit();
  if (!up || !down || times_.rounds() == 0) return std::nullopt;
  CostProfile profile{.pull_overhead_ns = down->overhead_ns,
                      .push_overhead_ns = up->overhead_ns,
                      .latency_ns = round_trip_ns_};
  const std::vector<Nanos> forward = times_.Forward();
  const std::vector<Nanos> backward = times_.Backward();
  for (size_t u = 0; u < units_.size(); ++u) {
    const int64_t bytes = units_[u].bytes;
    const int64_t more_messages = MoreMessages(bytes);
    profile.units.push_back(
        {.name = units_[u].name,
         .bytes = bytes,
         .forward_ns = forward[u],
         .backward_ns = backward[u],
         .pull_ns = TransferNs(bytes, down->bytes_per_s) + more_messages * down->overhead_ns,
         .push_ns = TransferNs(bytes, up->bytes_per_s) + more_messages * up->overhead_ns});
  }
  if (!Validate(profile).ok()) return std::nullopt;
  return profile;
}

std::optional<CostProfile> Profiler::ProfileOf(const IterationPlan& plan) const {
  std::optional<CostProfile> profile = Profile();
  if (!profile || plan.weave) return profile;
  const auto pay = [&](int first, int end, Nanos UnitCost::*ns, Nanos overhead) {
    int64_t bytes = 0;
    int64_t paid = 0;
    for (int u = first; u < end; ++u) {
      const int64_t own = units_[static_cast<size_t>(u)].bytes;
      bytes += own;
      paid += MoreMessages(own);
    }
    profile->units[static_cast<size_t>(first)].*ns += (MoreMessages(bytes) - paid) * overhead;
  };
  const Cuts& pulls = plan.forward.cuts;
  for (size_t i = 1; i < pulls.size(); ++i) {
    pay(pulls[i - 1], pulls[i], &UnitCost::pull_ns, profile->pull_overhead_ns);
  }
  const Cuts pushes = Reversed(plan.backward.cuts);  // as units come
  for (size_t i = 1; i < pushes.size(); ++i) {
    pay(pushes[i - 1], pushes[i], &UnitCost::push_ns, profile->push_overhead_ns);
  }
  return profile;
}

double Change(const CostProfile& before, const CostProfile& now) {
  const std::array<double, 3> a = Sums(before);
  const std::array<double, 3> b = Sums(now);
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]) / std::max({a[i], b[i], 1.0}));
  }
  return most;
}

}  // namespace weft::sched
