// SPDX-License-Identifier: Apache-2.0
#include "sched/slicing.h"

#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft::sched {
namespace {

CostProfile ProfileOf(const std::vector<int64_t>& bytes) {
  CostProfile profile;
  for (int64_t b : bytes) {
    profile.units.push_back({.name = "u", .bytes = b, .pull_ns = 3 * b, .push_ns = 7 * b});
  }
  return profile;
}

}  // namespace

TEST_GROUP(Slicing){};

TEST(Slicing, JoinsSmallNeighboursAndCutsLargeUnits) {
  const std::vector<Slice> slices =
      SliceUnits(ProfileOf({10, 20, 30, 250, 5}), {.first_bytes = 60, .largest_bytes = 60});
  LONGS_EQUAL(7, slices.size());
  LONGS_EQUAL(1, slices[0].first_unit);
  LONGS_EQUAL(3, slices[0].last_unit);
  for (int part = 1; part <= 5; ++part) {
    LONGS_EQUAL(4, slices[part].first_unit);
    LONGS_EQUAL(4, slices[part].last_unit);
    LONGLONGS_EQUAL(50, slices[part].bytes);
  }
  LONGS_EQUAL(5, slices[6].first_unit);
}

TEST(Slicing, SlicesMayDoubleUpToTheLargest) {
  const std::vector<Slice> slices =
      SliceUnits(ProfileOf(std::vector<int64_t>(16, 1)), {.first_bytes = 1, .largest_bytes = 4});
  const int64_t expected[] = {1, 2, 4, 4, 4, 1};
  LONGS_EQUAL(6, slices.size());
  for (size_t i = 0; i < slices.size(); ++i) LONGLONGS_EQUAL(expected[i], slices[i].bytes);
}

TEST(Slicing, PartsOfOneUnitDoubleToo) {
  const std::vector<Slice> slices =
      SliceUnits(ProfileOf({31}), {.first_bytes = 1, .largest_bytes = 8});
  const int64_t expected[] = {1, 2, 4, 8, 8, 8};
  LONGS_EQUAL(6, slices.size());
  for (size_t i = 0; i < slices.size(); ++i) LONGLONGS_EQUAL(expected[i], slices[i].bytes);
}

TEST(Slicing, CarriesEveryUnitOnceWhateverTheSizes) {
  Rng rng(41);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> bytes;
    for (int64_t u = rng.Between(1, 12); u > 0; --u) bytes.push_back(rng.Between(0, 1000));
    const CostProfile profile = ProfileOf(bytes);
    const int64_t first = rng.Between(1, 700);
    const int64_t largest = rng.Between(first, 1500);
    int64_t carried = 0;
    Nanos pull = 0;
    Nanos push = 0;
    int unit = 0;
    for (const Slice& slice : SliceUnits(profile, {first, largest})) {
      CHECK_TRUE(slice.first_unit == unit + 1 ||
                 (slice.first_unit == unit && slice.last_unit == unit));
      CHECK_TRUE(slice.bytes <= largest);
      unit = slice.last_unit;
      carried += slice.bytes;
      pull += slice.pull_ns;
      push += slice.push_ns;
    }
    LONGS_EQUAL(profile.unit_count(), unit);
    for (int64_t b : bytes) carried -= b;
    LONGLONGS_EQUAL(0, carried);
    for (const UnitCost& u : profile.units) {
      pull -= u.pull_ns;
      push -= u.push_ns;
    }
    LONGLONGS_EQUAL(0, pull);
    LONGLONGS_EQUAL(0, push);
  }
}

TEST(Slicing, EndsWhereItMay) {
  const CostProfile profile = ProfileOf({100, 100, 100});
  const std::vector<Slice> slices = SliceUnits(profile, {.first_bytes = 50, .largest_bytes = 50},
                                               std::vector<int64_t>{60, 100, 190, 230, 300});
  // 50, 100, 150, 200, 250 and 300 would be right.
  CHECK((EndsOf(slices) == std::vector<int64_t>{60, 100, 190, 230, 300}));
  LONGS_EQUAL(2, slices[3].first_unit);
  LONGS_EQUAL(3, slices[3].last_unit);
  LONGLONGS_EQUAL(3 * 40, slices[3].pull_ns);
  LONGLONGS_EQUAL(7 * 40, slices[3].push_ns);
  CHECK((EndsOf(SliceUnits(profile, {100, 100}, std::vector<int64_t>{140, 160, 300})) ==
         std::vector<int64_t>{140, 160, 300}));
}

TEST(Slicing, CutAnywhereTheyCarryEverythingOnce) {
  Rng rng(43);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> bytes;
    int64_t total = 1;
    for (int64_t u = rng.Between(1, 12); u > 0; --u) bytes.push_back(rng.Between(0, 100));
    bytes.push_back(1);
    for (const int64_t b : bytes) total += b;
    --total;
    const CostProfile profile = ProfileOf(bytes);
    std::vector<int64_t> ends;
    for (int64_t end = rng.Between(1, 60); end < total; end += rng.Between(1, 60)) {
      ends.push_back(end);
    }
    ends.push_back(total);
    const std::vector<Slice> slices = SlicesEndingAt(profile, ends);
    CHECK(EndsOf(slices) == ends);
    LONGS_EQUAL(1, slices.front().first_unit);
    LONGS_EQUAL(profile.unit_count(), slices.back().last_unit);
    int unit = 1;
    for (const Slice& slice : slices) {
      CHECK(slice.first_unit == unit || slice.first_unit == unit + 1);
      unit = slice.last_unit;
      LONGLONGS_EQUAL(3 * slice.bytes, slice.pull_ns);
      LONGLONGS_EQUAL(7 * slice.bytes, slice.push_ns);
    }
  }
}

TEST(Slicing, AUnitWithoutBytesIsNeverCut) {
  const std::vector<Slice> slices = SliceUnits(ProfileOf({0, 0}), {1, 1});
  LONGS_EQUAL(1, slices.size());
  LONGS_EQUAL(2, slices[0].last_unit);
}

}  // namespace weft::sched
