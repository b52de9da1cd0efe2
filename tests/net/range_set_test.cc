// SPDX-License-Identifier: Apache-2.0
// Ranges held against a bit for every place.
#include "net/range_set.h"

#include <string>

#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft::net {
namespace {

constexpr int64_t kPlaces = 120;

struct Bits {
  std::vector<bool> bits = std::vector<bool>(kPlaces, false);

  int64_t Count(FloatRange range) const {
    int64_t count = 0;
    for (int64_t i = range.begin; i < range.end; ++i) count += bits[static_cast<size_t>(i)];
    return count;
  }
  void Set(FloatRange range, bool value) {
    for (int64_t i = range.begin; i < range.end; ++i) bits[static_cast<size_t>(i)] = value;
  }
};

FloatRange DrawRange(Rng& rng) {
  const int64_t begin = rng.Between(0, kPlaces);
  return {begin, rng.Between(begin, std::min(kPlaces, begin + rng.Between(0, 40)))};
}

// Empty if the set is what the bits are, in order, and no two ranges touch.
std::string Differs(const RangeSet& set, const Bits& bits) {
  Bits seen;
  int64_t after = -1;
  for (const FloatRange& range : set.ranges()) {
    if (range.begin >= range.end) return "an empty range";
    if (range.begin <= after) return "ranges that touch, or in no order";
    after = range.end;
    seen.Set(range, true);
  }
  return seen.bits == bits.bits ? "" : "other places";
}

}  // namespace

TEST_GROUP(RangeSet){};

TEST(RangeSet, DoesWhatABitForEveryPlaceWouldDo) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    RangeSet set;
    Bits bits;
    for (int step = 0; step < 120; ++step) {
      const FloatRange range = DrawRange(rng);
      switch (rng.Between(0, 9)) {
        case 0:
          set.Remove(range);
          bits.Set(range, false);
          break;
        case 1:
        case 2:
        case 3: {
          Bits missing;
          int64_t last = range.begin;
          set.Fill(range, [&](FloatRange part) {
            CHECK(part.begin >= last && part.size() > 0 && part.end <= range.end);
            last = part.end;
            missing.Set(part, true);
          });
          for (int64_t i = range.begin; i < range.end; ++i) {
            CHECK(missing.bits[static_cast<size_t>(i)] != bits.bits[static_cast<size_t>(i)]);
          }
          bits.Set(range, true);
          break;
        }
        case 4:
          if (rng.Between(0, 20) != 0) break;
          set.Clear();
          bits = {};
          break;
        default:
          set.Add(range);
          bits.Set(range, true);
      }
      const FloatRange asked = DrawRange(rng);
      CHECK_EQUAL(bits.Count(asked), set.Covered(asked));
      CHECK_EQUAL(bits.Count(asked) == asked.size(), set.Covers(asked));
      const std::string wrong = Differs(set, bits);
      if (!wrong.empty()) FAIL(("seed " + std::to_string(seed) + ": " + wrong).c_str());
    }
  }
}

TEST(RangeSet, NeighboursBecomeOne) {
  RangeSet set;
  set.Add({0, 5});
  set.Add({10, 15});
  set.Add({5, 10});
  CHECK_EQUAL(1u, set.ranges().size());
  CHECK((set.ranges()[0] == FloatRange{0, 15}));
}

TEST(RangeSet, NothingIsAddedByAnEmptyRange) {
  RangeSet set;
  set.Add({5, 5});
  CHECK(set.empty());
  CHECK(set.Covers({7, 7}));
  CHECK_FALSE(set.Covers({5, 6}));
}

TEST(RangeSet, PlacesBeyondInt32AreKept) {
  RangeSet set;
  const int64_t far = int64_t{1} << 37;
  set.Add({far, far + 10});
  set.Remove({far + 2, far + 3});
  CHECK_EQUAL(9, set.Covered({0, INT64_MAX}));
}

}  // namespace weft::net
