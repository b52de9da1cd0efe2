// SPDX-License-Identifier: Apache-2.0
#include "net/wire_layout.h"

#include <algorithm>
#include <cassert>

namespace weft::net {

Result<WireLayout> WireLayout::Create(std::vector<WireUnit> units) {
  if (units.empty() || units.size() > static_cast<size_t>(kMaxUnits)) {
    return Status::InvalidInput("a model has 1 to " + std::to_string(kMaxUnits) + " units, not " +
                                std::to_string(units.size()));
  }
  WireLayout layout;
  layout.begin_.push_back(0);
  for (const WireUnit& unit : units) {
    if (unit.parameters < 0 || unit.statistics < 0 || unit.parameters > kMaxFloats ||
        unit.statistics > kMaxFloats) {
      return Status::InvalidInput("unit '" + unit.name + "' has no possible size");
    }
    layout.begin_.push_back(layout.begin_.back() + unit.parameters + unit.statistics);
    if (layout.begin_.back() > kMaxFloats) {
      return Status::InvalidInput("the model's units are larger together than any model");
    }
  }
  if (layout.floats() == 0) return Status::InvalidInput("the model's units hold no parameters");
  layout.units_ = std::move(units);
  return layout;
}

int WireLayout::UnitAt(int64_t place) const {
  assert(place >= 0 && place < floats());
  return static_cast<int>(std::upper_bound(begin_.begin(), begin_.end(), place) - begin_.begin()) -
         1;
}

Result<WireLayout::UnitRange> WireLayout::Shard(int shard, int shards) const {
  assert(shard >= 0 && shard < shards);
  if (shards > unit_count()) {
    return Status::InvalidInput("a model of " + std::to_string(unit_count()) +
                                " units cannot be spread over " + std::to_string(shards) +
                                " servers; use fewer");
  }
  // Border i is before the first unit that begins at or after i/shards of the bytes, but leaves
  // at least one unit for each server before and after.
  const auto border = [&](int i) {
    const int64_t wanted = floats() / shards * i;
    const auto first = std::lower_bound(begin_.begin(), begin_.end(), wanted);
    return std::clamp(static_cast<int>(first - begin_.begin()), i, unit_count() - (shards - i));
  };
  // A clamp from the left alone would let two borders meet where one unit holds most of the bytes.
  int begin = 0;
  for (int i = 1; i <= shard; ++i) begin = std::max(begin + 1, border(i));
  int end = begin;
  if (shard + 1 == shards) return UnitRange{begin, unit_count() - 1};
  end = std::max(begin + 1, border(shard + 1));
  return UnitRange{begin, end - 1};
}

std::vector<uint64_t> WireLayout::SliceEnds(UnitRange range, int64_t slice_floats) const {
  assert(slice_floats > 0);
  const FloatRange all = Units(range.first, range.last);
  std::vector<uint64_t> ends;
  int64_t begin = all.begin;  // of the slice being filled
  const auto close = [&](int64_t end) {
    if (end > begin) ends.push_back(static_cast<uint64_t>(end - all.begin));
    begin = end;
  };
  for (int unit = range.first; unit <= range.last; ++unit) {
    const FloatRange whole = Units(unit, unit);
    if (whole.end - begin > slice_floats) close(whole.begin);
    while (whole.end - begin > slice_floats) close(begin + slice_floats);
  }
  close(all.end);
  return ends;
}

}  // namespace weft::net
