// SPDX-License-Identifier: Apache-2.0
#include "sched/slicing.h"

#include <algorithm>
#include <cassert>

namespace weft::sched {
namespace {

// The share of part `index` of `parts` in `total`, so that all shares add up to it exactly.
int64_t Share(int64_t total, int64_t index, int64_t parts) {
  const auto before = [&](int64_t i) { return total / parts * i + total % parts * i / parts; };
  return before(index + 1) - before(index);
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
    const int64_t parts = std::max<int64_t>(1, (unit.bytes + limit - 1) / limit);
    for (int64_t part = 0; part < parts; ++part) {
      slices.push_back({.first_unit = u,
                        .last_unit = u,
                        .bytes = Share(unit.bytes, part, parts),
                        .pull_ns = Share(unit.pull_ns, part, parts),
                        .push_ns = Share(unit.push_ns, part, parts)});
    }
    open = parts == 1;
    if (!open) limit = std::min(limit * 2, sizes.largest_bytes);
  }
  return slices;
}

}  // namespace weft::sched
