// SPDX-License-Identifier: Apache-2.0
#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft {

TEST_GROUP(Rng){};

TEST(Rng, SameSeedSameStreamOnEveryMachine) {
  Rng a(42, 7);
  Rng b(42, 7);
  for (int i = 0; i < 100; ++i) CHECK_TRUE(a.Next() == b.Next());
}

TEST(Rng, OtherSeedOrOtherStreamIsAnotherSequence) {
  CHECK_TRUE(Rng(1, 0).Next() != Rng(2, 0).Next());
  CHECK_TRUE(Rng(1, 0).Next() != Rng(1, 1).Next());
}

TEST(Rng, BetweenReachesBothEndsAndNothingElse) {
  Rng rng(3);
  int seen[5] = {};
  for (int i = 0; i < 1000; ++i) {
    const int64_t draw = rng.Between(-2, 2);
    CHECK_TRUE(draw >= -2 && draw <= 2);
    ++seen[draw + 2];
  }
  for (int count : seen) CHECK_TRUE(count > 120);  // 200 expected, deviation 13
}

TEST(Rng, FractionsFillTheUnitInterval) {
  Rng rng(4);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double f = rng.Fraction();
    CHECK_TRUE(f >= 0 && f < 1);
    sum += f;
  }
  DOUBLES_EQUAL(5000, sum, 150);  // five deviations
}

}  // namespace weft
