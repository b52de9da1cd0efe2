// SPDX-License-Identifier: Apache-2.0
// Loss and gradient against torch.nn.functional.cross_entropy in float64 (golden/write_golden.py).
#include "core/train/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

constexpr int kClasses = 7;
const std::vector<int32_t> kLabels = {2, 0, 6, 3};

struct LossGolden {
  double smoothing;
  double loss;
  float logits[4 * kClasses];
  double d_logits[4 * kClasses];
};

const LossGolden kLossGolden[] = {
#include "tests/train/golden/loss.inc"
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double LossOf(const std::vector<float>& logits, double smoothing = 0) {
  const std::vector<int32_t> labels = {1};
  return SoftmaxCrossEntropy(logits, static_cast<int>(logits.size()), labels, smoothing, {})
      .value();
}

}  // namespace

TEST_GROUP(Loss){};

TEST(Loss, IsTorchsWithAndWithoutSmoothing) {
  for (const LossGolden& golden : kLossGolden) {
    std::vector<float> d_logits(std::size(golden.logits), kNan);
    const double loss =
        SoftmaxCrossEntropy(golden.logits, kClasses, kLabels, golden.smoothing, d_logits).value();
    DOUBLES_EQUAL(golden.loss, loss, 1e-6 * golden.loss);  // exp of floats, 6e-8 each
    for (size_t i = 0; i < d_logits.size(); ++i) {
      DOUBLES_EQUAL(golden.d_logits[i], d_logits[i], 1e-7);
    }
  }
}

TEST(Loss, IsTheSameWithoutAGradient) {
  for (const LossGolden& golden : kLossGolden) {
    std::vector<float> d_logits(std::size(golden.logits));
    const double with =
        SoftmaxCrossEntropy(golden.logits, kClasses, kLabels, golden.smoothing, d_logits).value();
    const double without =
        SoftmaxCrossEntropy(golden.logits, kClasses, kLabels, golden.smoothing, {}).value();
    DOUBLES_EQUAL(with, without, 0);
  }
}

TEST(Loss, MayWriteTheGradientOverTheLogits) {
  for (const LossGolden& golden : kLossGolden) {
    std::vector<float> apart(std::size(golden.logits));
    std::vector<float> in_place(std::begin(golden.logits), std::end(golden.logits));
    const double loss =
        SoftmaxCrossEntropy(golden.logits, kClasses, kLabels, golden.smoothing, apart).value();
    DOUBLES_EQUAL(
        loss, SoftmaxCrossEntropy(in_place, kClasses, kLabels, golden.smoothing, in_place).value(),
        0);
    CHECK(apart == in_place);
  }
}

TEST(Loss, StaysFiniteForHugeLogits) {
  DOUBLES_EQUAL(2e38, LossOf({1e38f, -1e38f}), 1e32);
  DOUBLES_EQUAL(0, LossOf({-3e38f, 0}), 0);
  DOUBLES_EQUAL(std::log(3.0), LossOf({1e38f, 1e38f, 1e38f}, 0.1), 1e-6);
}

TEST(Loss, IsNotFiniteWhereALogitIsNot) {
  CHECK_FALSE(std::isfinite(LossOf({kNan, 0})));
  CHECK_FALSE(std::isfinite(LossOf({0, kNan})));
  CHECK_FALSE(std::isfinite(LossOf({kInfinity, 0})));
  CHECK_FALSE(std::isfinite(LossOf({0, kInfinity})));
  CHECK_FALSE(std::isfinite(LossOf({0, -kInfinity})));
}

TEST(Loss, NamesTheImageWhoseLabelIsNoClass) {
  const std::vector<float> logits(3 * 10, 0.0f);
  for (const int32_t bad : {10, -1}) {
    const std::vector<int32_t> labels = {9, 0, bad};
    std::vector<float> d_logits(logits.size(), 5.0f);
    const Result<double> loss = SoftmaxCrossEntropy(logits, 10, labels, 0, d_logits);
    CHECK(loss.status().code() == StatusCode::kInvalidInput);
    const std::string expected = "image 2 of the batch has label " + std::to_string(bad) +
                                 ", but the network's classes are 0 to 9";
    STRCMP_EQUAL(expected.c_str(), loss.status().message().c_str());
    CHECK(std::all_of(d_logits.begin(), d_logits.end(), [](float d) { return d == 5.0f; }));
  }
}

TEST(Loss, RefusesASmoothingThatIsNoShare) {
  const std::vector<float> logits(2, 0.0f);
  const std::vector<int32_t> labels = {0};
  for (const double bad : {-0.1, 1.1, std::nan("")}) {
    const Result<double> loss = SoftmaxCrossEntropy(logits, 2, labels, bad, {});
    CHECK(loss.status().code() == StatusCode::kInvalidInput);
  }
}

}  // namespace weft::train
