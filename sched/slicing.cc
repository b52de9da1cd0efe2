// SPDX-License-Identifier: Apache-2.0
#include "sched/slicing.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::sched {
namespace {

// What of a unit's `total` time goes before byte `offset`. Differences of these add up exactly.
Nanos TimeBefore(Nanos total, int64_t offset, int64_t bytes) {
  if (offset == bytes) return total;
  return std::llround(static_cast<double>(total) * static_cast<double>(offset) /
                      static_cast<double>(bytes));
}

}  // namespace

std::vector<Slice> SliceUnits(const CostProfile& profile, const SliceSizes& sizes) {
  assert(0 < sizes.first_bytes && sizes.first_bytes <= sizes.largest_bytes);
  std::vector<Slice> slices;
  int64_t limit = sizes.first_bytes;
  bool open = false;  // whether the last slice may still take in a whole unit
  const auto close = [&] {
    if (open) limit = std::min(limit * 2, sizes.largest_bytes);
    open = false;
  };
  for (int u = 1; u <= profile.unit_count(); ++u) {
    const UnitCost& unit = profile.units[u - 1];
    if (open && slices.back().bytes + unit.bytes > limit) close();
    if (open) {
      Slice& slice = slices.back();
      slice.last_unit = u;
      slice.bytes += unit.bytes;
      slice.pull_ns += unit.pull_ns;
      slice.push_ns += unit.push_ns;
      continue;
    }
    open = unit.bytes <= limit;
    int64_t offset = 0;
    do {
      const int64_t rest = unit.bytes - offset;
      int64_t part = std::min(rest, limit);
      // At the largest size, equal parts: a small last one would cost as much overhead.
      if (limit == sizes.largest_bytes && rest > limit) {
        const int64_t parts = (rest + limit - 1) / limit;
        part = (rest + parts - 1) / parts;
      }
      const auto share = [&](Nanos total) {
        return TimeBefore(total, offset + part, unit.bytes) - TimeBefore(total, offset, unit.bytes);
      };
      slices.push_back({.first_unit = u,
                        .last_unit = u,
                        .bytes = part,
                        .pull_ns = share(unit.pull_ns),
                        .push_ns = share(unit.push_ns)});
      offset += part;
      if (!open) limit = std::min(limit * 2, sizes.largest_bytes);
    } while (offset < unit.bytes);
  }
  return slices;
}

}  // namespace weft::sched
