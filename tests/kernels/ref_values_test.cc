// SPDX-License-Identifier: Apache-2.0
// The reference on cases small enough to work out by hand, and on the edges that random data does
// not reach: NaN, ties, a batch of one value, gradients nobody wants.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "kernels/ref/backend.h"
#include "tests/op_harness/op_harness.h"

#include <CppUTest/TestHarness.h>

namespace weft::harness {
namespace {

using Values = std::vector<float>;
using namespace weft::model;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

OpResult Run(const OpSpec& op, const OpData& data) {
  const OpResult result = RunRef(op, data);
  STRCMP_EQUAL("", result.breach.c_str());
  return result;
}

void CheckValues(const Values& want, const Values& got) {
  LONGS_EQUAL(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      CHECK(std::isnan(got[i]));
    } else {
      CHECK_EQUAL(want[i], got[i]);
    }
  }
}

}  // namespace

TEST_GROUP(RefConv2d){};

TEST(RefConv2d, SlidesTheKernelUnturnedOverThePaddedImage) {
  const OpSpec op = MakeOp(Conv2d{.out_channels = 1, .kernel = 2, .stride = 2, .padding = 1},
                           {Shape{1, 1, 3, 3}});
  const OpResult result = Run(op, {.srcs = {{1, 2, 3,  //
                                             4, 5, 6,  //
                                             7, 8, 9}},
                                   .params = {{1, 10, 100, 1000}, {0.5f}},
                                   .d_dst = {1, 2, 3, 4}});
  // Windows: |0 0 / 0 1|, |0 0 / 2 3|, |0 4 / 0 7|, |5 6 / 8 9|.
  CheckValues({1000.5f, 3200.5f, 7040.5f, 9865.5f}, result.dst);
  CheckValues({1000, 200, 2000,  //
               30, 4, 40,        //
               3000, 400, 4000},
              result.d_srcs[0]);
  CheckValues({4 * 5, 3 * 4 + 4 * 6, 2 * 2 + 4 * 8, 1 * 1 + 2 * 3 + 3 * 7 + 4 * 9},
              result.d_params[0]);
  CheckValues({10}, result.d_params[1]);
}

TEST(RefConv2d, KeepsGroupsApart) {
  const OpSpec op =
      MakeOp(Conv2d{.out_channels = 4, .groups = 2, .bias = false}, {Shape{1, 4, 1, 1}});
  const OpResult result = Run(op, {.srcs = {{1, 2, 3, 4}},
                                   .params = {{1, 10, 100, 1000, 1, 10, 100, 1000}},
                                   .d_dst = {1, 2, 3, 4}});
  CheckValues({21, 2100, 43, 4300}, result.dst);
  CheckValues({201, 2010, 403, 4030}, result.d_srcs[0]);
  CheckValues({1, 2, 2, 4, 9, 12, 12, 16}, result.d_params[0]);
}

TEST(RefConv2d, SumsInDouble) {
  const OpSpec op = MakeOp(Conv2d{.out_channels = 1, .bias = false}, {Shape{1, 3, 1, 1}});
  const OpResult result =
      Run(op, {.srcs = {{1e8f, 1, -1e8f}}, .params = {{1, 1, 1}}, .d_dst = {1}});
  CheckValues({1}, result.dst);
}

TEST_GROUP(RefLinear){};

TEST(RefLinear, MultipliesByTheTransposedWeights) {
  const OpSpec op = MakeOp(Linear{.out_features = 2}, {Shape{2, 3}});
  const OpResult result = Run(op, {.srcs = {{1, 2, 3, 4, 5, 6}},
                                   .params = {{1, 10, 100, 2, 20, 200}, {0.5f, 0.25f}},
                                   .d_dst = {1, 2, 3, 4}});
  CheckValues({321.5f, 642.25f, 654.5f, 1308.25f}, result.dst);
  CheckValues({5, 50, 500, 11, 110, 1100}, result.d_srcs[0]);
  CheckValues({1 + 12, 2 + 15, 3 + 18, 2 + 16, 4 + 20, 6 + 24}, result.d_params[0]);
  CheckValues({4, 6}, result.d_params[1]);
}

TEST_GROUP(RefBatchNorm){};

TEST(RefBatchNorm, MovesTheRunningStatisticsByTheUnbiasedVariance) {
  const OpSpec op = MakeOp(BatchNorm{.eps = 1, .momentum = 0.25}, {Shape{2, 1, 1, 2}});
  // Mean 3, biased variance 3, unbiased 4; the divisor is sqrt(3 + 1) = 2.
  OpData data = {
      .srcs = {{4, 0, 4, 4}}, .params = {{2}, {10}}, .running = {{7}, {8}}, .d_dst = {0, 0, 0, 0}};
  OpResult result = Run(op, data);
  CheckValues({11, 7, 11, 11}, result.dst);
  CheckValues({6}, result.running[0]);
  CheckValues({7}, result.running[1]);

  data.again = true;
  result = Run(op, data);
  CheckValues({11, 7, 11, 11}, result.dst);
  CheckValues({7}, result.running[0]);
  CheckValues({8}, result.running[1]);
}

TEST(RefBatchNorm, TakesTheRunningStatisticsInInference) {
  const OpSpec op = InInference(MakeOp(BatchNorm{.eps = 1}, {Shape{1, 1, 1, 2}}));
  const OpResult result =
      Run(op, {.srcs = {{5, 9}}, .params = {{2}, {10}}, .running = {{7}, {3}}, .d_dst = {0, 0}});
  CheckValues({8, 12}, result.dst);
  CheckValues({7}, result.running[0]);
  CheckValues({3}, result.running[1]);
}

TEST(RefBatchNorm, TakesAChannelOfOneValueForOneWithoutVariance) {
  const OpSpec op = MakeOp(BatchNorm{.momentum = 0.5}, {Shape{1, 1, 1, 1}});
  const OpResult result =
      Run(op, {.srcs = {{5}}, .params = {{2}, {10}}, .running = {{7}, {3}}, .d_dst = {1}});
  CheckValues({10}, result.dst);
  CheckValues({6}, result.running[0]);
  CheckValues({1.5f}, result.running[1]);
  CheckValues({0}, result.d_srcs[0]);
}

TEST(RefBatchNorm, FindsASmallVarianceOnALargeMean) {
  const OpSpec op = MakeOp(BatchNorm{.eps = 1e-12}, {Shape{2, 1, 1, 1}});
  const OpResult result = Run(
      op, {.srcs = {{4096, 4097}}, .params = {{1}, {0}}, .running = {{0}, {1}}, .d_dst = {0, 0}});
  CheckValues({-1, 1}, result.dst);
}

TEST_GROUP(RefActivation){};

TEST(RefActivation, IsFlatAtItsKinksAndLetsNanThrough) {
  const OpData data = {.srcs = {{-1, 0, 2, 6, 7, kNan}}, .d_dst = {1, 2, 3, 4, 5, 6}};
  const OpResult relu = Run(MakeOp(Relu{}, {Shape{1, 6}}), data);
  CheckValues({0, 0, 2, 6, 7, kNan}, relu.dst);
  CheckValues({0, 0, 3, 4, 5, 6}, relu.d_srcs[0]);
  const OpResult relu6 = Run(MakeOp(Relu6{}, {Shape{1, 6}}), data);
  CheckValues({0, 0, 2, 6, 6, kNan}, relu6.dst);
  CheckValues({0, 0, 3, 0, 0, 6}, relu6.d_srcs[0]);
}

TEST(RefActivation, LetsNanThroughWhereItIsJoined) {
  for (Activation activation : {Activation::kRelu, Activation::kRelu6}) {
    const OpSpec op = MakeOp(Add{}, {Shape{1, 2}, Shape{1, 2}}, activation);
    CheckValues({kNan, 3}, Run(op, {.srcs = {{kNan, 1}, {1, 2}}, .d_dst = {1, 1}}).dst);
  }
}

TEST_GROUP(RefMaxPool){};

TEST(RefMaxPool, GivesTheGradientToTheFirstOfEqualMaxima) {
  const OpSpec op = MakeOp(MaxPool{.kernel = 2, .stride = 1}, {Shape{1, 1, 2, 3}});
  const OpResult result = Run(op, {.srcs = {{1, 2, 2,  //
                                             2, 2, 1}},
                                   .d_dst = {1, 10}});
  CheckValues({2, 2}, result.dst);
  CheckValues({0, 11, 0, 0, 0, 0}, result.d_srcs[0]);
}

TEST(RefMaxPool, NeverChoosesPadding) {
  const OpSpec op = MakeOp(MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {Shape{1, 1, 2, 2}});
  const OpResult result = Run(op, {.srcs = {{-4, -3, -2, -1}}, .d_dst = {1}});
  CheckValues({-1}, result.dst);
  const OpResult lowest =
      Run(op, {.srcs = {{-kInfinity, -kInfinity, -kInfinity, -kInfinity}}, .d_dst = {1}});
  CheckValues({-kInfinity}, lowest.dst);
  CheckValues({1, 0, 0, 0}, lowest.d_srcs[0]);
}

TEST(RefMaxPool, LetsNanThrough) {
  const OpSpec op = MakeOp(MaxPool{.kernel = 2, .stride = 2}, {Shape{1, 1, 2, 2}});
  for (int place = 0; place < 4; ++place) {
    Values src = {1, 2, 3, 4};
    Values d_src = {0, 0, 0, 0};
    src[place] = kNan;
    d_src[place] = 5;
    const OpResult result = Run(op, {.srcs = {src}, .d_dst = {5}});
    CheckValues({kNan}, result.dst);
    CheckValues(d_src, result.d_srcs[0]);
  }
}

TEST_GROUP(RefAvgPool){};

TEST(RefAvgPool, DividesByPaddingOnlyWhereItCountsAndNeverByWhatLiesBeyond) {
  // Windows of three cells, two apart, over 0 a b c d 0: |0 a b|, |b c d|, |d 0 .|.
  AvgPool pool{.kernel = {1, 3}, .stride = {1, 2}, .padding = {0, 1}, .ceil_mode = true};
  const OpData data = {.srcs = {{6, 12, 18, 24}}, .d_dst = {6, 6, 6}};
  const OpResult with = Run(MakeOp(pool, {Shape{1, 1, 1, 4}}), data);
  CheckValues({6, 18, 12}, with.dst);
  CheckValues({2, 4, 2, 5}, with.d_srcs[0]);
  pool.count_include_pad = false;
  const OpResult without = Run(MakeOp(pool, {Shape{1, 1, 1, 4}}), data);
  CheckValues({9, 18, 24}, without.dst);
  CheckValues({3, 5, 2, 8}, without.d_srcs[0]);
}

TEST(RefAvgPool, SharesCellsWhereTheOutputDoesNotDivideTheInput) {
  const OpData data = {.srcs = {{6, 12, 18, 24, 30}}, .d_dst = {6, 12, 24}};
  const OpResult result = Run(MakeOp(AdaptiveAvgPool{.output = {1, 3}}, {Shape{1, 1, 1, 5}}), data);
  CheckValues({9, 18, 27}, result.dst);  // cells 0-1, 1-3, 3-4
  CheckValues({3, 7, 4, 16, 12}, result.d_srcs[0]);
}

TEST_GROUP(RefDropout) {
  static constexpr int64_t kCount = 10000;
  const OpSpec op = MakeOp(Dropout{.probability = 0.2}, {Shape{100, 100}});

  OpResult Drawn(uint64_t draw) const {
    return Run(op, {.srcs = {Values(kCount, 4)}, .d_dst = Values(kCount, 8), .draw = draw});
  }
};

TEST(RefDropout, ZeroesItsShareAndScalesTheRest) {
  const Values dst = Drawn(1).dst;
  const int64_t dropped = std::count(dst.begin(), dst.end(), 0.0f);
  CHECK(dropped > 1800 && dropped < 2200);  // 2000 expected, deviation 40
  LONGLONGS_EQUAL(kCount - dropped, std::count(dst.begin(), dst.end(), 5.0f));
}

TEST(RefDropout, TakesTheGradientThroughTheSameMask) {
  const OpResult result = Drawn(1);
  for (int64_t i = 0; i < kCount; ++i) CHECK_EQUAL(2 * result.dst[i], result.d_srcs[0][i]);
}

TEST(RefDropout, DrawsAnotherMaskForAnotherDraw) {
  const Values first = Drawn(1).dst;
  CHECK(first == Drawn(1).dst);
  const Values second = Drawn(2).dst;
  int64_t in_both = 0;
  for (int64_t i = 0; i < kCount; ++i) in_both += first[i] == 0 && second[i] == 0;
  CHECK(in_both > 300 && in_both < 500);  // 400 expected if they are independent, deviation 20
}

TEST(RefDropout, PassesEverythingInInference) {
  const Values src(kCount, 4);
  CheckValues(src, Run(InInference(op), {.srcs = {src}, .d_dst = src}).dst);
}

TEST_GROUP(RefJoins) {
  Serial serial;
  ref::RefBackend backend{serial};
};

TEST(RefJoins, ConcatPutsTheChannelsOfEachImageInOrder) {
  const OpSpec op = MakeOp(Concat{}, {Shape{2, 1, 1, 2}, Shape{2, 2, 1, 2}});
  const OpResult result = Run(op, {.srcs = {{1, 2, 3, 4}, {5, 6, 7, 8, 9, 10, 11, 12}},
                                   .d_dst = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  CheckValues({1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12}, result.dst);
  CheckValues({1, 2, 7, 8}, result.d_srcs[0]);
  CheckValues({3, 4, 5, 6, 9, 10, 11, 12}, result.d_srcs[1]);
}

TEST(RefJoins, LeaveOutTheGradientsThatNobodyWants) {
  const Values d_dst = {1, 2};
  for (const OpSpec& op : {MakeOp(Add{}, {Shape{1, 2, 1, 1}, Shape{1, 2, 1, 1}}),
                           MakeOp(Concat{}, {Shape{1, 1, 1, 1}, Shape{1, 1, 1, 1}})}) {
    const auto kernel = std::move(backend.Offer(op, Role::kBackwardData)[0]);
    Values d_src(op.srcs[1].elements(), kNan);
    float* const d_srcs[] = {nullptr, d_src.data()};
    KernelArgs args;
    args.d_dst = d_dst.data();
    args.d_srcs = d_srcs;
    kernel->Run(args);
    CHECK_EQUAL(2.0f, d_src.back());
  }
}

}  // namespace weft::harness
