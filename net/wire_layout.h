// SPDX-License-Identifier: Apache-2.0
// Where everything is when it travels: unit after unit, of each first its parameters (or their
// gradients), then its running statistics, all float32. Both ends address by floats from the
// start, so a segment may begin and end anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::net {

struct WireUnit {
  std::string name = {};
  int64_t parameters = 0;  // floats
  int64_t statistics = 0;

  friend bool operator==(const WireUnit&, const WireUnit&) = default;
};

// Half-open, in floats.
struct FloatRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  friend bool operator==(const FloatRange&, const FloatRange&) = default;
};

inline constexpr int kMaxUnits = 100'000;
inline constexpr int64_t kMaxFloats = int64_t{1} << 38;

class WireLayout {
 public:
  // InvalidInput: no units, too many, or sizes that are no model's.
  static Result<WireLayout> Create(std::vector<WireUnit> units);

  const std::vector<WireUnit>& units() const { return units_; }
  int unit_count() const { return static_cast<int>(units_.size()); }
  int64_t floats() const { return begin_.back(); }

  FloatRange Units(int first, int last) const { return {begin_[at(first)], begin_[at(last) + 1]}; }
  FloatRange Parameters(int unit) const {
    return {begin_[at(unit)], begin_[at(unit)] + units_[at(unit)].parameters};
  }
  FloatRange Statistics(int unit) const {
    return {begin_[at(unit)] + units_[at(unit)].parameters, begin_[at(unit) + 1]};
  }
  // The unit that float `place` belongs to.
  int UnitAt(int64_t place) const;

  // The units that a range, which is not empty, lies in.
  struct UnitRange {
    int first = 0;
    int last = 0;
  };
  UnitRange UnitsOf(FloatRange range) const { return {UnitAt(range.begin), UnitAt(range.end - 1)}; }

  // Units of server `shard` of `shards`: neighbours, as equal in bytes as their borders allow.
  // InvalidInput: more servers than units.
  Result<UnitRange> Shard(int shard, int shards) const;

  // Ends of slices of about `slice_floats` within units first..last, from the start of `first`:
  // units are joined while they fit, and cut where one alone does not.
  std::vector<uint64_t> SliceEnds(UnitRange range, int64_t slice_floats) const;

 private:
  static size_t at(int unit) { return static_cast<size_t>(unit); }

  std::vector<WireUnit> units_;
  std::vector<int64_t> begin_;  // [units + 1]
};

}  // namespace weft::net
