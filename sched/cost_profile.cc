// SPDX-License-Identifier: Apache-2.0
#include "sched/cost_profile.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::sched {
namespace {

Status Negative(const std::string& field) {
  return Status::InvalidInput(field + " is negative; give a whole number of at least 0");
}

// Adds up what can only grow, and notices when it passes kMaxIterationNs.
class CappedSum {
 public:
  void Add(Nanos value) {
    if (__builtin_add_overflow(total_, value, &total_) || total_ > kMaxIterationNs) over_ = true;
    if (over_) total_ = kMaxIterationNs;
  }
  bool over() const { return over_; }

 private:
  Nanos total_ = 0;
  bool over_ = false;
};

Status TooLong(const std::string& field) {
  return Status::InvalidInput(field + " makes one iteration longer than " +
                              std::to_string(kMaxIterationNs) +
                              " ns (11 days); are the times in nanoseconds?");
}

Nanos RoundedNs(double ns) {
  return ns < static_cast<double>(kMaxIterationNs) ? std::llround(ns) : kMaxIterationNs + 1;
}

}  // namespace

Status Validate(const CostProfile& profile) {
  if (profile.units.empty()) {
    return Status::InvalidInput("units is empty; a profile needs at least one unit");
  }
  if (profile.units.size() > kMaxUnits) {
    return Status::InvalidInput("units has " + std::to_string(profile.units.size()) +
                                " entries; at most " + std::to_string(kMaxUnits) +
                                " can be planned");
  }
  CappedSum time;
  CappedSum bytes;
  if (profile.latency_ns < 0) return Negative("latency_ns");
  if (profile.pull_overhead_ns < 0) return Negative("pull_overhead_ns");
  if (profile.push_overhead_ns < 0) return Negative("push_overhead_ns");
  if (profile.broker && profile.broker->overhead_ns < 0) return Negative("broker overhead");
  if (profile.broker &&
      (profile.broker->bytes_per_s <= 0 || profile.broker->bytes_per_s > kMaxBytesPerS)) {
    return Status::InvalidInput("the broker's rate must be from 1 to " +
                                std::to_string(kMaxBytesPerS) + " bytes/s");
  }
  time.Add(profile.latency_ns);
  if (time.over()) return TooLong("latency_ns");
  for (int u = 0; u < profile.unit_count(); ++u) {
    const UnitCost& unit = profile.units[u];
    const std::string where = "units[" + std::to_string(u) + "].";
    const std::pair<const char*, Nanos> fields[] = {{"forward_ns", unit.forward_ns},
                                                    {"backward_ns", unit.backward_ns},
                                                    {"pull_ns", unit.pull_ns},
                                                    {"push_ns", unit.push_ns}};
    for (const auto& [name, value] : fields) {
      if (value < 0) return Negative(where + name);
      time.Add(value);
      if (time.over()) return TooLong(where + name);
    }
    if (unit.bytes < 0) return Negative(where + "bytes");
    bytes.Add(unit.bytes);
    if (bytes.over()) return Status::InvalidInput(where + "bytes is too large to be a model's");
    time.Add(profile.pull_overhead_ns);
    if (time.over()) return TooLong("pull_overhead_ns");
    time.Add(profile.push_overhead_ns);
    if (time.over()) return TooLong("push_overhead_ns");
    if (profile.broker) {
      for (int direction = 0; direction < 2; ++direction) {
        time.Add(profile.broker->overhead_ns);
        time.Add(TransferNs(unit.bytes, profile.broker->bytes_per_s));
      }
      if (time.over()) return TooLong("the broker hop");
    }
  }
  return Status::Ok();
}

Nanos TransferNs(int64_t bytes, int64_t bytes_per_s) {
  assert(bytes >= 0 && bytes_per_s > 0 && bytes_per_s <= kMaxBytesPerS);
  // Long division, three decimal digits at a time: 64 bits suffice on every board.
  Nanos ns = bytes / bytes_per_s;
  int64_t rest = bytes % bytes_per_s;
  if (ns > kMaxIterationNs / 1'000'000'000) return kMaxIterationNs + 1;
  for (int digits = 0; digits < 3; ++digits) {
    rest *= 1000;
    ns = ns * 1000 + rest / bytes_per_s;
    rest %= bytes_per_s;
  }
  return rest >= bytes_per_s - rest ? ns + 1 : ns;
}

Result<CostProfile> EstimateProfile(std::span<const UnitWork> work, const Setting& setting) {
  assert(setting.gflops > 0 && setting.bytes_per_s > 0 && setting.batch > 0);
  CostProfile profile;
  profile.pull_overhead_ns = profile.push_overhead_ns = setting.overhead_ns;
  profile.latency_ns = setting.rtt_ns;
  profile.broker = setting.broker;
  profile.units.reserve(work.size());
  for (const UnitWork& unit : work) {
    const double forward_ns =
        2.0 * static_cast<double>(unit.macs) * static_cast<double>(setting.batch) / setting.gflops;
    const Nanos transfer_ns = TransferNs(unit.bytes, setting.bytes_per_s);
    profile.units.push_back({.name = unit.name,
                             .bytes = unit.bytes,
                             .forward_ns = RoundedNs(forward_ns),
                             .backward_ns = RoundedNs(forward_ns * setting.backward_ratio),
                             .pull_ns = transfer_ns,
                             .push_ns = transfer_ns});
  }
  if (Status status = Validate(profile); !status.ok()) return status;
  return profile;
}

}  // namespace weft::sched
