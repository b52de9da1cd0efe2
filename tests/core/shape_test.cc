// SPDX-License-Identifier: Apache-2.0
#include "core/shape.h"

#include <cstdint>

#include <CppUTest/TestHarness.h>

namespace weft {

TEST_GROUP(Shape){};

TEST(Shape, OfNoExtentsIsAScalar) {
  LONGS_EQUAL(0, Shape().rank());
  LONGLONGS_EQUAL(1, Shape().elements());
  STRCMP_EQUAL("[]", Shape().ToString().c_str());
}

TEST(Shape, KeepsItsExtentsOutermostFirst) {
  const Shape shape{64, 3, 7, 5};
  LONGS_EQUAL(4, shape.rank());
  LONGLONGS_EQUAL(64, shape[0]);
  LONGLONGS_EQUAL(5, shape[3]);
}

TEST(Shape, CountsElementsAsTheProductOfItsExtents) {
  const Shape weights{64, 3, 7, 7};
  LONGLONGS_EQUAL(9408, weights.elements());
  const Shape empty{32, 0, 4};
  LONGLONGS_EQUAL(0, empty.elements());
}

TEST(Shape, CountsPast32Bits) {
  const Shape shape{65536, 65536, 4};
  LONGLONGS_EQUAL(int64_t{1} << 34, shape.elements());
}

TEST(Shape, PrintsAsPyTorchDoes) {
  const Shape shape{64, 3, 7, 7};
  STRCMP_EQUAL("[64, 3, 7, 7]", shape.ToString().c_str());
}

TEST(Shape, EqualsOnlyTheSameRankAndExtents) {
  const Shape shape{2, 3};
  CHECK(shape == (Shape{2, 3}));
  CHECK(shape != (Shape{3, 2}));
  CHECK(shape != (Shape{2, 3, 0}));
}

}  // namespace weft
