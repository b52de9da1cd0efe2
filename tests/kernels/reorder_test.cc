// SPDX-License-Identifier: Apache-2.0
#include "kernels/ref/reorder.h"

#include <limits>
#include <numeric>
#include <vector>

#include "core/kernel.h"
#include "core/parallel.h"
#include "kernels/ref/backend.h"

#include <CppUTest/TestHarness.h>

namespace weft::ref {
namespace {

constexpr int kBlocks[] = {1, 2, 3, 4, 8, 16};

// 1, 2, 3, ...: no two alike, and none is zero.
std::vector<float> Counting(int64_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

// Into room that holds nothing useful, as memory does.
std::vector<float> Reordered(const Shape& shape, const std::vector<float>& src, int src_block,
                             int dst_block) {
  std::vector<float> dst(ActivationElements(shape, dst_block),
                         std::numeric_limits<float>::quiet_NaN());
  Reorder(shape, src.data(), src_block, dst.data(), dst_block);
  return dst;
}

}  // namespace

TEST_GROUP(Reorder){};

TEST(Reorder, PutsTheChannelsOfABlockSideBySideAndZerosAfterTheLast) {
  // Two images of three channels, one row of two cells; channels 0, 1 make a block, 2 and a zero
  // the other.
  const std::vector<float> plain = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<float> blocked = {1, 3, 2, 4,  5,  0, 6,  0,  //
                                      7, 9, 8, 10, 11, 0, 12, 0};
  CHECK(Reordered({2, 3, 1, 2}, plain, 1, 2) == blocked);
}

TEST(Reorder, ComesBackThroughAnyTwoBlocks) {
  const Shape shape{2, 7, 3, 5};
  const std::vector<float> plain = Counting(shape.elements());
  for (int first : kBlocks) {
    for (int second : kBlocks) {
      const auto there = Reordered(shape, Reordered(shape, plain, 1, first), first, second);
      CHECK(Reordered(shape, plain, 1, second) == there);
      CHECK(plain == Reordered(shape, there, second, 1));
    }
  }
}

TEST(Reorder, KeepsEveryValueAtItsPlaceAndFillsTheRestWithZero) {
  const Shape shape{2, 5, 2, 3};
  const std::vector<float> plain = Counting(shape.elements());
  for (int block : kBlocks) {
    std::vector<float> blocked = Reordered(shape, plain, 1, block);
    LONGLONGS_EQUAL(ActivationElements(shape, block), blocked.size());
    int64_t next = 0;
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t c = 0; c < 5; ++c) {
        for (int64_t h = 0; h < 2; ++h) {
          for (int64_t w = 0; w < 3; ++w) {
            float& value = blocked[BlockedPlace(shape, block, n, c, h, w)];
            DOUBLES_EQUAL(plain[next++], value, 0);
            value = 0;
          }
        }
      }
    }
    for (float filler : blocked) DOUBLES_EQUAL(0, filler, 0);
  }
}

TEST(Reorder, DoesNotTrustTheFillingChannelsOfItsSource) {
  const Shape shape{1, 3, 1, 1};
  const std::vector<float> dirty = {1, 2, 3, 99};
  CHECK((std::vector<float>{1, 2, 3, 0, 0, 0, 0, 0}) == Reordered(shape, dirty, 4, 8));
}

TEST(Reorder, CopiesWhatHasNoChannels) {
  const std::vector<float> features = Counting(15);
  CHECK(features == Reordered({3, 5}, features, 8, 1));
  CHECK(features == Reordered({3, 5}, features, 1, 8));
}

TEST(Reorder, IsOfferedAsAKernel) {
  Serial serial;
  const Shape shape{2, 5, 2, 3};
  const auto kernel = RefBackend(serial).OfferReorder(shape, 1, 4);
  LONGS_EQUAL(1, kernel->src_block());
  LONGS_EQUAL(4, kernel->dst_block());
  const std::vector<float> plain = Counting(shape.elements());
  std::vector<float> blocked(ActivationElements(shape, 4));
  const float* srcs[] = {plain.data()};
  KernelArgs args;
  args.srcs = srcs;
  args.dst = blocked.data();
  kernel->Run(args);
  CHECK(Reordered(shape, plain, 1, 4) == blocked);
}

}  // namespace weft::ref
