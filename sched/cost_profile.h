// SPDX-License-Identifier: Apache-2.0
// What one iteration costs on one device and one link, unit by unit: the input of every planner
// and of the simulator. Times are int64 nanoseconds, so that equal plans compare equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::sched {

using Nanos = int64_t;

// Costs of one unit. Transfer times are link occupancy without the per-segment overhead.
struct UnitCost {
  std::string name;
  // What travels. Where a profile knows only times, any measure that grows with them: only the
  // proportions matter, to weave's slices.
  int64_t bytes = 0;
  Nanos forward_ns = 0;
  Nanos backward_ns = 0;
  Nanos pull_ns = 0;
  Nanos push_ns = 0;
};

// A store-and-forward broker between link and server: every segment occupies it after (push) or
// before (pull) the link. One hop for the whole job: workers share it.
struct BrokerHop {
  Nanos overhead_ns = 0;
  int64_t bytes_per_s = 0;
};

struct CostProfile {
  std::vector<UnitCost> units = {};  // unit 1 first
  Nanos pull_overhead_ns = 0;        // Δt of the way down
  Nanos push_overhead_ns = 0;        // Δt of the way up
  Nanos latency_ns = 0;              // both ways together; pipelined, so paid once an iteration
  std::optional<BrokerHop> broker = {};

  int unit_count() const { return static_cast<int>(units.size()); }
  Nanos push_latency_ns() const { return latency_ns / 2; }
  Nanos pull_latency_ns() const { return latency_ns - push_latency_ns(); }
};

// The longest iteration a profile may describe, taken with one segment per unit: about 11 days.
// It leaves room for thousands of simulated rounds in an int64.
inline constexpr Nanos kMaxIterationNs = 1'000'000'000'000'000;
inline constexpr int kMaxUnits = 100'000;

// Ok if every planner and the simulator can work on `profile`: at least one unit, nothing
// negative, no sum that overflows. Otherwise names the field.
Status Validate(const CostProfile& profile);

inline constexpr int64_t kMaxBytesPerS = 1'000'000'000'000'000;

// Nanoseconds that `bytes` occupy a line of `bytes_per_s` (1 to kMaxBytesPerS), rounded to
// nearest. The result saturates above kMaxIterationNs, where Validate refuses it.
Nanos TransferNs(int64_t bytes, int64_t bytes_per_s);

// What a unit asks of any machine and link.
struct UnitWork {
  std::string name;
  int64_t bytes = 0;
  int64_t macs = 0;  // multiply-adds of one image
};

// A machine and a link described by a few numbers, for planning without a measurement.
struct Setting {
  int64_t batch = 32;
  double gflops = 0;  // 1e9 floating-point operations a second; a multiply-add counts as two
  double backward_ratio = 2;
  int64_t bytes_per_s = 0;  // each direction
  Nanos overhead_ns = 0;    // each direction
  Nanos rtt_ns = 0;
  std::optional<BrokerHop> broker = {};
};

// The profile of `work` under `setting`; refuses what Validate refuses.
Result<CostProfile> EstimateProfile(std::span<const UnitWork> work, const Setting& setting);

}  // namespace weft::sched
