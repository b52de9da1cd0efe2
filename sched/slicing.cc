// SPDX-License-Identifier: Apache-2.0
#include "sched/slicing.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft::sched {
namespace {

// What of a unit's `total` time goes before byte `offset`. Differences of these add up exactly.
Nanos TimeBefore(Nanos total, int64_t offset, int64_t bytes) {
  if (offset == 0) return 0;
  if (offset == bytes) return total;
  return std::llround(static_cast<double>(total) * static_cast<double>(offset) /
                      static_cast<double>(bytes));
}

std::vector<Slice> SlicesOfSize(const CostProfile& profile, const SliceSizes& sizes) {
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

int64_t Nearest(int64_t end, std::span<const int64_t> places) {
  const auto after = std::lower_bound(places.begin(), places.end(), end);
  if (after == places.end()) return places.back();
  if (after == places.begin()) return *after;
  const int64_t before = *(after - 1);
  return end - before < *after - end ? before : *after;
}

}  // namespace

std::vector<Slice> SliceUnits(const CostProfile& profile, const SliceSizes& sizes,
                              std::span<const int64_t> places) {
  std::vector<Slice> slices = SlicesOfSize(profile, sizes);
  if (places.empty()) return slices;
  std::vector<int64_t> ends = EndsOf(slices);
  for (int64_t& end : ends) end = Nearest(end, places);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return SlicesEndingAt(profile, ends);
}

std::vector<Slice> SlicesEndingAt(const CostProfile& profile, std::span<const int64_t> ends) {
  std::vector<Slice> slices;
  int unit = 1;  // the first that is not wholly carried
  int64_t unit_begin = 0;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    Slice slice{.first_unit = unit, .last_unit = unit, .bytes = end - begin};
    const auto carry = [&](int64_t from, int64_t to) {
      const UnitCost& u = profile.units[unit - 1];
      slice.last_unit = unit;
      slice.pull_ns += TimeBefore(u.pull_ns, to, u.bytes) - TimeBefore(u.pull_ns, from, u.bytes);
      slice.push_ns += TimeBefore(u.push_ns, to, u.bytes) - TimeBefore(u.push_ns, from, u.bytes);
    };
    while (unit <= profile.unit_count()) {
      const int64_t bytes = profile.units[unit - 1].bytes;
      if (unit_begin + bytes > end) break;
      carry(std::max<int64_t>(begin - unit_begin, 0), bytes);
      unit_begin += bytes;
      ++unit;
    }
    if (unit_begin < end) carry(std::max<int64_t>(begin - unit_begin, 0), end - unit_begin);
    begin = end;
    slices.push_back(slice);
  }
  return slices;
}

std::vector<int64_t> EndsOf(const std::vector<Slice>& slices) {
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (const Slice& slice : slices) ends.push_back(end += slice.bytes);
  return ends;
}

}  // namespace weft::sched
