// SPDX-License-Identifier: Apache-2.0
#include "core/train/metrics.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

Hits HitsOf(const std::vector<float>& logits, int32_t label) {
  const std::vector<int32_t> labels = {label};
  return CountHits(logits, static_cast<int>(logits.size()), labels);
}

}  // namespace

TEST_GROUP(Metrics){};

TEST(Metrics, CountsWhatSortingTheLogitsWouldFind) {
  constexpr int kImages = 500;
  constexpr int kClasses = 12;
  Rng rng(5);
  std::vector<float> logits;
  std::vector<int32_t> labels;
  Hits expected;
  for (int n = 0; n < kImages; ++n) {
    std::vector<float> row(kClasses);
    for (float& logit : row) logit = static_cast<float>(rng.Between(-4, 4));  // with many ties
    const auto label = static_cast<int32_t>(rng.Between(0, kClasses - 1));
    std::vector<int> order(kClasses);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
    const auto place = std::find(order.begin(), order.end(), label) - order.begin();
    expected.top1 += place < 1;
    expected.top5 += place < 5;
    logits.insert(logits.end(), row.begin(), row.end());
    labels.push_back(label);
  }
  const Hits hits = CountHits(logits, kClasses, labels);
  LONGLONGS_EQUAL(expected.top1, hits.top1);
  LONGLONGS_EQUAL(expected.top5, hits.top5);
}

TEST(Metrics, ANetworkThatDivergedHitsNothingButByChance) {
  LONGLONGS_EQUAL(0, HitsOf({kNotANumber, kNotANumber, kNotANumber}, 0).top1);
  LONGLONGS_EQUAL(0, HitsOf({kNotANumber, kNotANumber, kNotANumber}, 0).top5);
  LONGLONGS_EQUAL(0, HitsOf({kNotANumber, 1, 0}, 1).top1);
  LONGLONGS_EQUAL(1, HitsOf({kNotANumber, 1, 0}, 1).top5);
}

TEST(Metrics, AScoreWeighsBatchesByTheirImages) {
  Score score;
  DOUBLES_EQUAL(0, score.loss(), 0);
  score.Add(2.0, {.top1 = 1, .top5 = 3}, 3);
  score.Add(4.0, {.top1 = 1, .top5 = 1}, 1);
  LONGLONGS_EQUAL(4, score.images());
  DOUBLES_EQUAL(2.5, score.loss(), 1e-12);
  DOUBLES_EQUAL(0.5, score.top1(), 1e-12);
  DOUBLES_EQUAL(1.0, score.top5(), 1e-12);
}

}  // namespace weft::train
