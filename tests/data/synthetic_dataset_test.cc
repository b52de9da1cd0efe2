// SPDX-License-Identifier: Apache-2.0
#include "apps/data/synthetic_dataset.h"

#include <cmath>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

std::unique_ptr<train::Dataset> Open(const std::string& spec, Split split = Split::kTrain) {
  return OpenDataset(spec, split).value();
}

}  // namespace

TEST_GROUP(SyntheticDataset){};

TEST(SyntheticDataset, IsWhatItsNameSays) {
  const auto dataset = Open("synthetic:3x20x30:7:100");
  CHECK(Shape({3, 20, 30}) == dataset->image_shape());
  LONGS_EQUAL(7, dataset->classes());
  LONGS_EQUAL(100, dataset->size());
  LONGS_EQUAL(1024, Open("synthetic:1x1x1:1")->size());
  train::Image image;
  for (int i = 0; i < 100; ++i) LONGS_EQUAL(i % 7, dataset->Read(i, image).value());
}

TEST(SyntheticDataset, GivesTheSamePixelsAgainAndOthersForTheTest) {
  const auto train = Open("synthetic:1x8x8:2");
  const auto test = Open("synthetic:1x8x8:2", Split::kTest);
  train::Image first;
  train::Image again;
  train::Image other;
  CHECK_TRUE(train->Read(5, first).ok() && train->Read(5, again).ok() && test->Read(5, other).ok());
  CHECK(first.pixels == again.pixels);
  CHECK_FALSE(first.pixels == other.pixels);
}

TEST(SyntheticDataset, HasTheMeanAndDeviationItClaims) {
  const auto dataset = Open("synthetic:2x16x16:50:500");
  double sum = 0;
  double squares = 0;
  int64_t count = 0;
  train::Image image;
  for (int i = 0; i < 500; ++i) {
    CHECK_TRUE(dataset->Read(i, image).ok());
    for (const uint8_t pixel : image.pixels) {
      sum += pixel / 255.0;
      squares += pixel / 255.0 * pixel / 255.0;
      ++count;
    }
  }
  const double mean = sum / static_cast<double>(count);
  // 1600 cells are drawn, so the mean is good to .145 / 40, the deviation to about as much.
  DOUBLES_EQUAL(dataset->normalisation().mean[0], mean, .012);
  DOUBLES_EQUAL(dataset->normalisation().deviation[0],
                std::sqrt(squares / static_cast<double>(count) - mean * mean), .012);
}

// The simplest learner there is: the nearest class mean of the training images.
TEST(SyntheticDataset, CanBeLearnt) {
  constexpr int kClasses = 10;
  const auto train = Open("synthetic:1x8x8:10:200");
  const auto test = Open("synthetic:1x8x8:10:200", Split::kTest);
  std::vector<std::vector<double>> means(kClasses, std::vector<double>(64));
  train::Image image;
  for (int i = 0; i < 200; ++i) {
    const int label = train->Read(i, image).value();
    for (int p = 0; p < 64; ++p) means[label][p] += image.pixels[p] / 20.0;
  }
  int right = 0;
  for (int i = 0; i < 200; ++i) {
    const int label = test->Read(i, image).value();
    int best = 0;
    double best_distance = HUGE_VAL;
    for (int c = 0; c < kClasses; ++c) {
      double distance = 0;
      for (int p = 0; p < 64; ++p) distance += std::pow(image.pixels[p] - means[c][p], 2);
      if (distance < best_distance) best_distance = distance, best = c;
    }
    right += best == label;
  }
  CHECK_TRUE(right >= 198);
}

TEST(SyntheticDataset, RefusesDescriptionsThatAreNone) {
  for (const char* description :
       {"", "3x32x32", "3x32x32:", "3x32x32:0", "0x32x32:10", "3x32:10", "3x32x32x32:10",
        "3x32x32:10:", "3x32x32:10:0", "3x32x32:10:5:5", "3x32x32:10:-5", "axbxc:d", "3x32x32:10x",
        "3x9999x32:10", "3x32x32:99999999999999999999", " 3x32x32:10", "3x32x32:10 "}) {
    const auto dataset = OpenDataset(std::string("synthetic:") + description, Split::kTrain);
    CHECK_FALSE_TEXT(dataset.ok(), description);
    STRCMP_CONTAINS("CxHxW:CLASSES", dataset.status().message().c_str());
  }
}

TEST_GROUP(OpenDataset){};

TEST(OpenDataset, ListsTheKindsWhenGivenNone) {
  for (const char* spec :
       {"", ":", "mnist", "mnist:", "/data/mnist", "imagenet:/data", "CIFAR10:x"}) {
    const auto dataset = OpenDataset(spec, Split::kTrain);
    CHECK_FALSE(dataset.ok());
    CHECK_TRUE(dataset.status().code() == StatusCode::kInvalidInput);
    STRCMP_CONTAINS(("'" + std::string(spec) + "' names no data set; give mnist:DIR").c_str(),
                    dataset.status().message().c_str());
  }
}

TEST(OpenDataset, TakesColonsInAPath) {
  const auto dataset = OpenDataset("mnist:/no:where", Split::kTrain);
  STRCMP_CONTAINS(" in /no:where;", dataset.status().message().c_str());
}

}  // namespace weft::apps
