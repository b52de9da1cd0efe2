// SPDX-License-Identifier: Apache-2.0
// Every expected extent is what PyTorch 1.13 answers for the same layer and input.
#include "core/model/shape_inference.h"

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::model {
namespace {

std::string Inferred(const Layer& layer, const std::vector<Shape>& inputs) {
  const Result<Shape> output = InferShape(WithInputCounts(layer, inputs), inputs);
  return output.ok() ? output->ToString() : output.status().message();
}

struct PoolCase {
  int input, kernel, stride, padding;
  bool ceil_mode;
  int output;
};

constexpr PoolCase kPoolCases[] = {
    {5, 2, 2, 0, false, 2},    {5, 2, 2, 0, true, 3},
    {5, 2, 2, 1, true, 3},  // a fourth window would start in the trailing padding
    {3, 2, 5, 1, true, 1},  // and here a second one
    {2, 2, 2, 1, true, 2},     {1, 2, 2, 1, true, 1},
    {4, 3, 2, 0, true, 2},     {2, 3, 2, 0, true, 1},  // the only window reaches outside
    {3, 2, 3, 1, true, 2},     {6, 3, 4, 1, true, 2},
    {7, 3, 3, 1, true, 3},     {2, 1, 5, 0, true, 1},
    {55, 3, 2, 0, true, 27},   {112, 3, 2, 0, true, 56},
    {112, 3, 2, 1, false, 56},
};

}  // namespace

TEST_GROUP(ShapeInference){};

TEST(ShapeInference, RoundsPoolingAsPyTorchDoes) {
  for (const auto& [input, kernel, stride, padding, ceil_mode, output] : kPoolCases) {
    const Shape image{1, input, input};
    const std::string expected = Shape{1, output, output}.ToString();
    const MaxPool max_pool{kernel, stride, padding, ceil_mode};
    const AvgPool avg_pool{kernel, stride, padding, ceil_mode};
    STRCMP_EQUAL(expected.c_str(), Inferred(max_pool, {image}).c_str());
    STRCMP_EQUAL(expected.c_str(), Inferred(avg_pool, {image}).c_str());
  }
}

TEST(ShapeInference, TreatsTheTwoAxesApart) {
  const MaxPool pool{.kernel = {2, 3}, .stride = {2, 1}, .padding = {0, 1}};
  STRCMP_EQUAL("[4, 5, 8]", Inferred(pool, {{4, 10, 8}}).c_str());
  const Conv2d row{.out_channels = 6, .kernel = {1, 7}, .padding = {0, 3}};
  STRCMP_EQUAL("[6, 17, 17]", Inferred(row, {{4, 17, 17}}).c_str());
}

TEST(ShapeInference, CountsTheReachOfADilatedGroupedConvolution) {
  const Conv2d conv{
      .out_channels = 8, .kernel = 3, .stride = 2, .padding = 1, .dilation = 2, .groups = 2};
  STRCMP_EQUAL("[8, 5, 4]", Inferred(conv, {{4, 11, 9}}).c_str());
}

TEST(ShapeInference, GivesAnAdaptivePoolItsOutputSizeWhateverComesIn) {
  const AdaptiveAvgPool pool{.output = 7};
  STRCMP_EQUAL("[512, 7, 7]", Inferred(pool, {{512, 9, 13}}).c_str());
  STRCMP_EQUAL("[512, 7, 7]", Inferred(pool, {{512, 1, 1}}).c_str());
}

TEST(ShapeInference, JoinsBranchesAlongTheChannels) {
  STRCMP_EQUAL("[256, 28, 28]",
               Inferred(Concat{}, {{64, 28, 28}, {128, 28, 28}, {64, 28, 28}}).c_str());
}

TEST(ShapeInference, FlattensAnImageIntoAVector) {
  STRCMP_EQUAL("[400]", Inferred(Flatten{}, {{16, 5, 5}}).c_str());
}

TEST(ShapeInference, TakesInputCountsFromTheInputUnlessTheyAreGiven) {
  const std::vector<Shape> image = {{3, 8, 8}};
  LONGS_EQUAL(3, std::get<Conv2d>(WithInputCounts(Conv2d{}, image)).in_channels);
  LONGS_EQUAL(3, std::get<BatchNorm>(WithInputCounts(BatchNorm{}, image)).channels);
  LONGS_EQUAL(5, std::get<Conv2d>(WithInputCounts(Conv2d{.in_channels = 5}, image)).in_channels);
  const std::vector<Shape> vector = {{400}};
  LONGS_EQUAL(400, std::get<Linear>(WithInputCounts(Linear{}, vector)).in_features);
}

TEST(ShapeInference, RefusesAWindowThatNeverFits) {
  STRCMP_EQUAL("its kernel 3x3 with dilation 1x1 is larger than the input [1, 1, 1] padded by 0x0",
               Inferred(MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true}, {{1, 1, 1}}).c_str());
  STRCMP_EQUAL(
      "its kernel 3x3 with dilation 4x4 is larger than the input [1, 8, 9] padded by 0x0",
      Inferred(Conv2d{.out_channels = 1, .kernel = 3, .dilation = 4}, {{1, 8, 9}}).c_str());
}

TEST(ShapeInference, RefusesAPoolThatWouldSeeOnlyPadding) {
  STRCMP_EQUAL("its padding 2x2 is more than half of its kernel 3x3",
               Inferred(MaxPool{.kernel = 3, .stride = 2, .padding = 2}, {{1, 8, 8}}).c_str());
}

TEST(ShapeInference, RefusesAMistakeOnEitherAxis) {
  const auto refused = [](const Layer& layer, const std::vector<Shape>& inputs) {
    return !InferShape(WithInputCounts(layer, inputs), inputs).ok();
  };
  CHECK(refused(MaxPool{.kernel = {3, 7}, .stride = 2, .padding = 2}, {{1, 8, 8}}));
  CHECK(refused(MaxPool{.kernel = {7, 3}, .stride = 2, .padding = 2}, {{1, 8, 8}}));
  CHECK(refused(MaxPool{.kernel = 4, .stride = 2}, {{1, 3, 8}}));
  CHECK(refused(MaxPool{.kernel = 4, .stride = 2}, {{1, 8, 3}}));
  CHECK(refused(Concat{}, {{1, 8, 8}, {1, 7, 8}}));
  CHECK(refused(Concat{}, {{1, 8, 8}, {1, 8, 7}}));
}

TEST(ShapeInference, RefusesMeaninglessNumbers) {
  const std::vector<Shape> image = {{4, 8, 8}};
  const auto refused = [&](const Layer& layer) {
    return !InferShape(WithInputCounts(layer, image), image).ok();
  };
  CHECK(refused(Conv2d{.out_channels = 0}));
  CHECK(refused(Conv2d{.out_channels = 4, .kernel = 0}));
  CHECK(refused(Conv2d{.out_channels = 4, .stride = {1, 0}}));
  CHECK(refused(Conv2d{.out_channels = 4, .padding = -1}));
  CHECK(refused(Conv2d{.out_channels = 4, .dilation = 0}));
  CHECK(refused(Conv2d{.out_channels = 4, .groups = 0}));
  CHECK(refused(Conv2d{.out_channels = 4, .groups = 3}));
  CHECK(refused(Conv2d{.out_channels = 6, .groups = 4}));
  CHECK(refused(AdaptiveAvgPool{.output = {7, 0}}));
  CHECK(refused(BatchNorm{.eps = 0}));
  CHECK(refused(BatchNorm{.momentum = std::numeric_limits<double>::quiet_NaN()}));
  CHECK(refused(Dropout{.probability = 1}));
  CHECK(refused(Dropout{.probability = -0.1}));
  CHECK(!refused(Dropout{.probability = 0}));
}

TEST(ShapeInference, RefusesTensorsPast32BitsBeforeAnythingOverflows) {
  const int huge = std::numeric_limits<int>::max();
  STRCMP_CONTAINS("its output of 2147483647x8x8 must have",
                  Inferred(Conv2d{.out_channels = huge}, {{4, 8, 8}}).c_str());
  STRCMP_CONTAINS("its weight of 2147483647x1024 must have",
                  Inferred(Linear{.out_features = huge}, {{1024}}).c_str());
  STRCMP_CONTAINS("its weight of -5x1024 must have",
                  Inferred(Linear{.out_features = -5}, {{1024}}).c_str());
  CHECK(!CheckImage({huge, huge, huge}).ok());
}

}  // namespace weft::model
