// SPDX-License-Identifier: Apache-2.0
// weave's unit of travel. Segments follow unit borders; slices also cut inside a unit, so that a
// 400 MB classifier does not hold the line for half a minute while something urgent waits, and
// join small neighbours, so that Δt is not paid for every batch-norm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/cost_profile.h"

namespace weft::sched {

// Units first..last (1-based), or a part of one unit where first == last; cut at given places, the
// first and the last may be there in part. Slices are in unit order and together carry every unit
// once; the same slice goes up and comes down.
struct Slice {
  int first_unit = 0;
  int last_unit = 0;
  int64_t bytes = 0;
  Nanos pull_ns = 0;  // link occupancy without overhead
  Nanos push_ns = 0;
};

// How large slices are: the first is at most `first_bytes`, each next one may be twice as large,
// up to `largest_bytes`. Small first slices let the next forward start early; large later ones
// save overhead.
struct SliceSizes {
  int64_t first_bytes = 0;
  int64_t largest_bytes = 0;

  friend bool operator==(const SliceSizes&, const SliceSizes&) = default;
};

// Neighbouring units are joined while they fit the current size; a unit that is larger alone is
// cut into parts that fit. Both sizes at least 1, first_bytes at most largest_bytes. With `places`,
// which are as SlicesEndingAt wants them, each slice ends at the place that is nearest.
std::vector<Slice> SliceUnits(const CostProfile& profile, const SliceSizes& sizes,
                              std::span<const int64_t> places = {});

// Cut after so many bytes of the model, wherever that is. `ends` rise, and the last is the model's.
std::vector<Slice> SlicesEndingAt(const CostProfile& profile, std::span<const int64_t> ends);

// Where they end.
std::vector<int64_t> EndsOf(const std::vector<Slice>& slices);

}  // namespace weft::sched
