// SPDX-License-Identifier: Apache-2.0
// Which floats of a model have arrived: disjoint ranges in order, neighbours joined. Segments come
// in a few runs, so the set stays short.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "net/wire_layout.h"

namespace weft::net {

class RangeSet {
 public:
  void Clear() { ranges_.clear(); }
  bool empty() const { return ranges_.empty(); }
  const std::vector<FloatRange>& ranges() const { return ranges_; }

  // Of `range`, how many are in the set.
  int64_t Covered(FloatRange range) const {
    int64_t covered = 0;
    for (auto at = FirstEndingAfter(range.begin); at != ranges_.end() && at->begin < range.end;
         ++at) {
      covered += std::min(at->end, range.end) - std::max(at->begin, range.begin);
    }
    return covered;
  }
  bool Covers(FloatRange range) const { return Covered(range) == range.size(); }

  // Calls missing(FloatRange) for each part of `range` that is not in the set, in order.
  template <typename Missing>
  void ForMissing(FloatRange range, const Missing& missing) const {
    int64_t at = range.begin;
    for (auto next = FirstEndingAfter(range.begin); next != ranges_.end() && at < range.end;
         ++next) {
      if (next->begin >= range.end) break;
      if (next->begin > at) missing(FloatRange{at, next->begin});
      at = next->end;
    }
    if (at < range.end) missing(FloatRange{at, range.end});
  }
  // The same, and then adds it all.
  template <typename Missing>
  void Fill(FloatRange range, const Missing& missing) {
    ForMissing(range, missing);
    Add(range);
  }

  void Add(FloatRange range) {
    if (range.size() <= 0) return;
    // Everything that touches `range` melts into it.
    auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin,
                                  [](const FloatRange& r, int64_t place) { return r.end < place; });
    auto last = first;
    for (; last != ranges_.end() && last->begin <= range.end; ++last) {
      range.begin = std::min(range.begin, last->begin);
      range.end = std::max(range.end, last->end);
    }
    if (first == last) {
      ranges_.insert(first, range);
    } else {
      *first = range;
      ranges_.erase(first + 1, last);
    }
  }

  void Remove(FloatRange range) {
    if (range.size() <= 0) return;
    std::vector<FloatRange> kept;
    for (const FloatRange& r : ranges_) {
      if (r.begin < range.begin) kept.push_back({r.begin, std::min(r.end, range.begin)});
      if (r.end > range.end) kept.push_back({std::max(r.begin, range.end), r.end});
    }
    ranges_ = std::move(kept);
  }

 private:
  std::vector<FloatRange>::const_iterator FirstEndingAfter(int64_t place) const {
    return std::upper_bound(ranges_.begin(), ranges_.end(), place,
                            [](int64_t p, const FloatRange& r) { return p < r.end; });
  }

  std::vector<FloatRange> ranges_;
};

}  // namespace weft::net
