// SPDX-License-Identifier: Apache-2.0
// The expected numbers are torchvision 0.14's, from transforms.functional on float tensors:
// crop, pad, hflip, resize(antialias=False), normalize.
#include "core/train/augment.h"

#include <cmath>
#include <vector>

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

const Normalisation kNormalisation = {{.4f, .5f}, {.2f, .25f}};

// Two channels that differ, with no symmetry.
Image Pattern(int height, int width) {
  Image image;
  image.Reshape(2, height, width);
  size_t i = 0;
  for (int c = 0; c < 2; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        image.pixels[i++] = static_cast<uint8_t>((c * 101 + y * 37 + x * 53) % 256);
      }
    }
  }
  return image;
}

std::vector<float> Rendered(const Image& image, const View& view, int height, int width) {
  std::vector<float> dst(static_cast<size_t>(image.channels) * height * width, NAN);
  Render(image, view, Normaliser(kNormalisation), height, width, dst);
  return dst;
}

void CheckRendered(const std::vector<float>& expected, const View& view, int height, int width) {
  const std::vector<float> actual = Rendered(Pattern(5, 7), view, height, width);
  LONGS_EQUAL(expected.size(), actual.size());
  // Both sides round to float some five times on values up to 255 / (255 * 0.2).
  for (size_t i = 0; i < expected.size(); ++i) DOUBLES_EQUAL(expected[i], actual[i], 4e-6);
}

}  // namespace

TEST_GROUP(Augment){};

TEST(Augment, NormalisesEveryByteOfEveryChannel) {
  const Normaliser normaliser(kNormalisation);
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<uint8_t>(value);
    DOUBLES_EQUAL((value / 255.0 - .4) / .2, normaliser.FromByte(0, byte), 1e-6);
    DOUBLES_EQUAL((value / 255.0 - .5) / .25, normaliser.FromByte(1, byte), 1e-6);
    DOUBLES_EQUAL(normaliser.FromByte(0, byte), normaliser.FromFloat(0, static_cast<float>(value)),
                  1e-6);
  }
}

TEST(Augment, ShrinksAsTorchvision) {
  CheckRendered({-1.368464f,   0.4501633f, 2.268791f,  -0.9321896f, -0.159314f,  1.659314f,
                 -0.9142155f,  0.2769607f, 1.049836f,  2.241013f,   -0.3325164f, 1.486111f,
                 0.08954239f,  1.042484f,  -1.01634f,  0.4385619f,  1.056863f,   -1.503921f,
                 -0.04901958f, 1.405882f,  0.5183008f, -0.5366013f, 0.9183006f,  -1.140523f},
                WholeView(Pattern(5, 7)), 3, 4);
}

TEST(Augment, EnlargesAsTorchvision) {
  const std::vector<float> actual = Rendered(Pattern(5, 7), WholeView(Pattern(5, 7)), 8, 9);
  const std::vector<float> first_rows = {
      -2,           -1.307189f, -0.4989107f, 0.3093682f, 1.117647f,   1.925926f,
      -0.05446658f, -1.477124f, -0.7843137f, -1.682598f, -0.9897876f, -0.1815087f,
      0.6267704f,   1.435049f,  2.243328f,   0.2629353f, -1.159722f,  -0.4669118f};
  const std::vector<float> last_row = {-1.391176f, 1.905882f, -0.2169935f, -0.9089324f, -0.2623093f,
                                       0.3843138f, 1.030937f, -0.5533772f, -1.691503f,  -1.137255f};
  for (size_t i = 0; i < first_rows.size(); ++i) DOUBLES_EQUAL(first_rows[i], actual[i], 4e-6);
  for (size_t i = 0; i < last_row.size(); ++i) {
    DOUBLES_EQUAL(last_row[i], actual[actual.size() - last_row.size() + i], 4e-6);
  }
}

TEST(Augment, CutsOutBeforeResizing) {
  CheckRendered({0.9852941f, 1.504902f,   1.988562f,   1.844771f,   0.4460779f,  -0.9166667f,
                 2.073529f,  0.7107843f,  -0.6879085f, -0.8316994f, -0.3480391f, 0.1715685f,
                 0.9686275f, -0.1215687f, -1.073203f,  -0.5189543f, 0.03529406f, 0.4509804f,
                 -1.172549f, -0.7568628f, -0.2026143f, 0.3516338f,  0.9058824f,  1.321569f},
                {1, 2, 3, 4}, 2, 6);
}

TEST(Augment, FlipsLeftToRight) {
  CheckRendered({-0.9166667f, 0.4460779f,  1.844771f,   1.988562f,   1.504902f,   0.9852941f,
                 0.1715685f,  -0.3480391f, -0.8316994f, -0.6879085f, 0.7107843f,  2.073529f,
                 0.4509804f,  0.03529406f, -0.5189543f, -1.073203f,  -0.1215687f, 0.9686275f,
                 1.321569f,   0.9058824f,  0.3516338f,  -0.2026143f, -0.7568628f, -1.172549f},
                {1, 2, 3, 4, true}, 2, 6);
  const Image image = Pattern(5, 7);
  const std::vector<float> plain = Rendered(image, WholeView(image), 5, 7);
  const std::vector<float> flipped = Rendered(image, {0, 0, 5, 7, true}, 5, 7);
  for (int row = 0; row < 2 * 5; ++row) {
    for (int x = 0; x < 7; ++x) CHECK(plain[row * 7 + x] == flipped[row * 7 + 6 - x]);
  }
}

TEST(Augment, IsBlackOutsideOfTheImage) {
  const float o = -2;  // black, in both channels
  CheckRendered({o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 0.07843137f,
                 1.117647f,
                 2.156863f,
                 -1.823529f,
                 -0.7843137f,
                 o,
                 o,
                 0.8039216f,
                 1.843137f,
                 2.882353f,
                 -1.098039f,
                 -0.05882353f,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 o,
                 1.247059f,
                 -1.937255f,
                 -1.105882f,
                 -0.2745098f,
                 0.5568628f,
                 o,
                 o,
                 1.827451f,
                 -1.356863f,
                 -0.5254902f,
                 0.3058825f,
                 1.137255f,
                 o,
                 o},
                {-3, 2, 5, 7}, 5, 7);
  CheckRendered(
      {o, o, o, o, o, o, 1.254902f, -1.339869f, o, o, o, o, o, o, o, -0.4888889f, 0.1124182f, o},
      {-3, 2, 5, 7}, 3, 3);
}

TEST(Augment, ShiftsReachEveryPlaceOfThePaddingAndNoOther) {
  const Image image = Pattern(5, 7);
  bool seen[9][9] = {};
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {  // a place stays unseen with probability 81 * (80/81)^2000
    const View view = ShiftedView(image, 4, rng);
    CHECK_TRUE(std::abs(view.top) <= 4 && std::abs(view.left) <= 4);
    CHECK_TRUE(view.height == 5 && view.width == 7);
    seen[view.top + 4][view.left + 4] = true;
  }
  for (const auto& row : seen) {
    for (const bool place : row) CHECK_TRUE(place);
  }
}

TEST(Augment, ResizedCropsKeepToAreaShapeAndImage) {
  const Image image = Pattern(60, 80);
  Rng rng(2);
  double smallest = 1;
  double largest = 0;
  for (int i = 0; i < 2000; ++i) {
    const View view = ResizedCropView(image, rng);
    CHECK_TRUE(view.top >= 0 && view.top + view.height <= 60);
    CHECK_TRUE(view.left >= 0 && view.left + view.width <= 80);
    const double area = view.height * view.width / 4800.0;
    const double ratio = static_cast<double>(view.width) / view.height;
    // Sides are rounded to whole pixels, and the smallest is about 17.
    CHECK_TRUE(area >= 0.08 * 0.94 && ratio >= 0.75 * 0.94 && ratio <= 1.34 * 1.06);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
  }
  CHECK_TRUE(smallest < 0.1 && largest > 0.9);
}

// What torchvision's RandomResizedCrop.get_params falls back to.
TEST(Augment, ResizedCropsOfAStripComeFromItsMiddle) {
  Rng rng(3);
  const View wide = ResizedCropView(Pattern(10, 1000), rng);
  LONGS_EQUAL(0, wide.top);
  LONGS_EQUAL(493, wide.left);
  LONGS_EQUAL(10, wide.height);
  LONGS_EQUAL(13, wide.width);
  const View high = ResizedCropView(Pattern(1000, 10), rng);
  LONGS_EQUAL(493, high.top);
  LONGS_EQUAL(0, high.left);
  LONGS_EQUAL(13, high.height);
  LONGS_EQUAL(10, high.width);
}

// torchvision resizes to 256 and then crops 224; inside, where its edges differ, it is the same.
TEST(Augment, TheCentreIsTorchvisionsResizeAndCentreCrop) {
  const Image image = Pattern(32, 48);
  const View view = PlainView(image, Variation::kResizeAndFlip, 224, 224);
  const std::vector<float> shown = Rendered(image, view, 224, 224);
  const struct {
    int y;
    int x;
    double first;
    double second;
  } expected[] = {
      {100, 17, .269608, 1.227451}, {50, 120, -.512255, .445098}, {200, 30, .987745, .719608}};
  for (const auto& [y, x, first, second] : expected) {
    DOUBLES_EQUAL(first, shown[y * 224 + x], 4e-6);
    DOUBLES_EQUAL(second, shown[(224 + y) * 224 + x], 4e-6);
  }
}

TEST(Augment, TheCentreStaysInsideOfAnyImage) {
  for (const int height : {1, 2, 3, 50, 333}) {
    for (const int width : {1, 2, 3, 50, 333}) {
      const Image image = Pattern(height, width);
      for (const auto& [h, w] : {std::pair(224, 224), std::pair(10, 90), std::pair(90, 10)}) {
        const View view = CentreView(image, h, w);
        CHECK_TRUE(view.top >= 0 && view.top + view.height <= height && view.height > 0);
        CHECK_TRUE(view.left >= 0 && view.left + view.width <= width && view.width > 0);
      }
    }
  }
}

TEST(Augment, DigitsAreNeverVaried) {
  const Image image = Pattern(5, 7);
  Rng rng(4);
  for (int i = 0; i < 100; ++i) {
    const View view = RandomView(image, Variation::kNone, 5, 7, rng);
    CHECK_TRUE(view.top == 0 && view.left == 0 && !view.flip);
    CHECK_TRUE(view.height == 5 && view.width == 7);
  }
}

// From a second implementation of the stream, written in Python.
TEST(Augment, AViewIsAFunctionOfSeedEpochAndIndex) {
  const Image image = Pattern(5, 7);
  const struct {
    int index;
    int top;
    int left;
    bool flip;
  } expected[] = {{36, -2, 1, true}, {38, 3, 1, false}, {41, 0, 0, false}, {45, 4, -2, true}};
  for (const auto& [index, top, left, flip] : expected) {
    Rng rng = ViewRng(7, 3, index);
    const View view = RandomView(image, Variation::kShiftAndFlip, 5, 7, rng);
    LONGS_EQUAL(top, view.top);
    LONGS_EQUAL(left, view.left);
    CHECK_EQUAL(flip, view.flip);
  }
}

}  // namespace weft::train
