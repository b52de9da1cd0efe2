// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <cstdint>

#include <CppUTest/TestHarness.h>

namespace weft {

TEST_GROUP(Arena){};

TEST(Arena, PiecesAreAlignedAndApart) {
  Arena arena(1024);
  const auto bytes = arena.Take<char>(3);
  const auto words = arena.Take<int64_t>(5);
  LONGS_EQUAL(0, reinterpret_cast<uintptr_t>(words.data()) % alignof(int64_t));
  CHECK_TRUE(reinterpret_cast<char*>(words.data()) >= bytes.data() + 3);
}

TEST(Arena, APieceLargerThanABlockGetsItsOwn) {
  Arena arena(64);
  const auto large = arena.Take<int>(1000);
  large[0] = 1;
  large[999] = 2;
  LONGS_EQUAL(4000, arena.bytes_taken());
}

TEST(Arena, TheSameWorkAfterResetTakesNothingNew) {
  Arena arena(256);
  const auto work = [&] {
    for (int i = 1; i < 100; ++i) arena.Take<int>(i);
  };
  work();
  const size_t reserved = arena.bytes_reserved();
  arena.Reset();
  LONGS_EQUAL(0, arena.bytes_taken());
  work();
  LONGS_EQUAL(reserved, arena.bytes_reserved());
}

}  // namespace weft
