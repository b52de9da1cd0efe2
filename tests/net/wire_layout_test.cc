// SPDX-License-Identifier: Apache-2.0
#include "net/wire_layout.h"

#include <algorithm>
#include <string>

#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

WireLayout Made(const std::vector<int64_t>& sizes) {
  std::vector<WireUnit> units;
  for (const int64_t size : sizes) {
    units.push_back({.name = "u" + std::to_string(units.size()), .parameters = size});
  }
  return *WireLayout::Create(units);
}

// Sizes as models have them: some nothing, some a hundred times the others.
WireLayout Drawn(Rng& rng) {
  std::vector<WireUnit> units(static_cast<size_t>(rng.Between(1, 40)));
  for (WireUnit& unit : units) {
    unit.parameters = rng.Between(0, 3) == 0 ? rng.Between(0, 5000) : rng.Between(0, 50);
    unit.statistics = rng.Between(0, 2) == 0 ? rng.Between(0, 10) : 0;
  }
  units.front().parameters += 1;
  return *WireLayout::Create(units);
}

bool Refuses(std::vector<WireUnit> units) {
  const auto layout = WireLayout::Create(std::move(units));
  return !layout.ok() && layout.status().code() == StatusCode::kInvalidInput;
}

}  // namespace

TEST_GROUP(WireLayout){};

TEST(WireLayout, PutsEachUnitsParametersBeforeItsStatistics) {
  const auto layout = WireLayout::Create({{"a", 5, 0}, {"b", 7, 3}, {"c", 4, 2}});
  CHECK(layout.ok());
  CHECK_EQUAL(21, layout->floats());
  CHECK((layout->Parameters(1) == FloatRange{5, 12}));
  CHECK((layout->Statistics(1) == FloatRange{12, 15}));
  CHECK((layout->Units(1, 2) == FloatRange{5, 21}));
  CHECK((layout->Statistics(0) == FloatRange{5, 5}));
}

TEST(WireLayout, KnowsTheUnitOfEveryFloatAlsoAroundEmptyUnits) {
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    const WireLayout layout = Drawn(rng);
    for (int64_t place = 0; place < layout.floats(); ++place) {
      const FloatRange unit = layout.Units(layout.UnitAt(place), layout.UnitAt(place));
      if (place < unit.begin || place >= unit.end) FAIL("a float of another unit");
    }
  }
}

TEST(WireLayout, RefusesSizesThatAreNoModels) {
  CHECK(Refuses({}));
  CHECK(Refuses({{"a", 0, 0}}));
  CHECK(Refuses({{"a", -1, 5}}));
  CHECK(Refuses({{"a", 5, -1}}));
  CHECK(Refuses({{"a", kMaxFloats + 1, 0}}));
  CHECK(Refuses({{"a", INT64_MAX, INT64_MAX}}));
  CHECK(Refuses({{"a", kMaxFloats, 0}, {"b", 1, 0}}));
  CHECK(Refuses(std::vector<WireUnit>(static_cast<size_t>(kMaxUnits) + 1, WireUnit{"a", 1, 0})));
  CHECK_FALSE(Refuses({{"a", kMaxFloats, 0}}));
}

TEST(WireLayout, ServersShareAllUnitsOnceAndNoneIsWithout) {
  Rng rng(2);
  for (int i = 0; i < 200; ++i) {
    const WireLayout layout = Drawn(rng);
    for (int shards = 1; shards <= layout.unit_count(); ++shards) {
      int next = 0;
      for (int shard = 0; shard < shards; ++shard) {
        const auto range = layout.Shard(shard, shards);
        CHECK(range.ok());
        CHECK_EQUAL(next, range->first);
        CHECK(range->last >= range->first);
        next = range->last + 1;
      }
      CHECK_EQUAL(layout.unit_count(), next);
    }
    CHECK(layout.Shard(0, layout.unit_count() + 1).status().code() == StatusCode::kInvalidInput);
  }
}

// A border is moved from its ideal place by less than one unit, so a server has at most its share
// and the largest unit on top.
TEST(WireLayout, ServersHaveEqualSharesUpToOneUnit) {
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<int64_t> sizes(static_cast<size_t>(rng.Between(4, 60)));
    for (int64_t& size : sizes) size = rng.Between(50, 100);
    const WireLayout layout = Made(sizes);
    for (int shards = 1; shards <= 4; ++shards) {
      for (int shard = 0; shard < shards; ++shard) {
        const auto range = layout.Shard(shard, shards);
        const int64_t floats = layout.Units(range->first, range->last).size();
        CHECK(floats <= layout.floats() / shards + 100 + shards);
      }
    }
  }
}

TEST(WireLayout, OneUnitWithNearlyEverythingLeavesTheOthersTheirs) {
  for (size_t large = 0; large < 5; ++large) {
    std::vector<int64_t> sizes(5, 1);
    sizes[large] = 1'000'000;
    const WireLayout layout = Made(sizes);
    for (int shard = 0; shard < 5; ++shard) {
      const auto range = layout.Shard(shard, 5);
      CHECK_EQUAL(shard, range->first);
      CHECK_EQUAL(shard, range->last);
    }
  }
}

TEST(WireLayout, SlicesCoverTheirUnitsExactlyAndAreNoLargerThanAsked) {
  Rng rng(4);
  for (int i = 0; i < 300; ++i) {
    const WireLayout layout = Drawn(rng);
    const int first = static_cast<int>(rng.Between(0, layout.unit_count() - 1));
    const int last = static_cast<int>(rng.Between(first, layout.unit_count() - 1));
    const int64_t wanted = rng.Between(1, 6000);
    const std::vector<uint64_t> ends = layout.SliceEnds({first, last}, wanted);
    uint64_t begin = 0;
    for (const uint64_t end : ends) {
      CHECK(end > begin);
      CHECK(end - begin <= static_cast<uint64_t>(wanted));
      begin = end;
    }
    CHECK_EQUAL(static_cast<uint64_t>(layout.Units(first, last).size()), begin);
  }
}

TEST(WireLayout, SlicesJoinUnitsWhileTheyFitAndCutTheLarge) {
  const WireLayout layout = Made({3, 3, 3, 25, 2, 2});
  CHECK((layout.SliceEnds({0, 5}, 10) == std::vector<uint64_t>{9, 19, 29, 38}));
  CHECK((layout.SliceEnds({0, 5}, 1000) == std::vector<uint64_t>{38}));
  CHECK((layout.SliceEnds({3, 3}, 25) == std::vector<uint64_t>{25}));
  CHECK((layout.SliceEnds({4, 5}, 2) == std::vector<uint64_t>{2, 4}));
}

}  // namespace weft::net
