// SPDX-License-Identifier: Apache-2.0
#include "apps/data/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include "tests/data/image_bytes.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using Bytes = std::vector<uint8_t>;

// A slow slope in each channel, which JPEG keeps to a few levels at quality 95.
Bytes Slope(int width, int height) {
  Bytes rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      rgb.push_back(static_cast<uint8_t>(x * 255 / width));
      rgb.push_back(static_cast<uint8_t>(y * 255 / height));
      rgb.push_back(static_cast<uint8_t>(255 - x * 255 / width));
    }
  }
  return rgb;
}

train::Image Decoded(const Bytes& file) {
  train::Image image;
  const Status status = DecodeImage(file, image);
  STRCMP_EQUAL("", status.message().c_str());
  return image;
}

int Pixel(const train::Image& image, int channel, int y, int x) {
  return image.pixels[(channel * image.height + y) * image.width + x];
}

void CheckRefused(std::span<const uint8_t> file, const char* expected) {
  train::Image image;
  const Status status = DecodeImage(file, image);
  CHECK_FALSE(status.ok());
  STRCMP_CONTAINS(expected, status.message().c_str());
}

}  // namespace

TEST_GROUP(ImageFile){};

TEST(ImageFile, DecodesJpegToPlanes) {
  for (const int subsampling : {TJSAMP_444, TJSAMP_420}) {
    const train::Image image = Decoded(JpegBytes(Slope(61, 43), 61, 43, TJPF_RGB, subsampling));
    CHECK_TRUE(image.channels == 3 && image.height == 43 && image.width == 61);
    for (const int y : {0, 20, 42}) {
      for (const int x : {0, 30, 60}) {
        // Levels lost to quantisation at this quality, some more to halved colour.
        LONGS_EQUAL_TEXT(1, std::abs(Pixel(image, 0, y, x) - x * 255 / 61) <= 8, "red");
        LONGS_EQUAL_TEXT(1, std::abs(Pixel(image, 1, y, x) - y * 255 / 43) <= 8, "green");
        LONGS_EQUAL_TEXT(1, std::abs(Pixel(image, 2, y, x) - (255 - x * 255 / 61)) <= 8, "blue");
      }
    }
  }
}

TEST(ImageFile, TurnsGreyIntoThreeEqualChannels) {
  Bytes grey(30 * 20);
  for (size_t i = 0; i < grey.size(); ++i) grey[i] = static_cast<uint8_t>(i / 3);
  for (const Bytes& file : {JpegBytes(grey, 30, 20, TJPF_GRAY, TJSAMP_GRAY),
                            PngBytes(grey.data(), 30, 20, PNG_FORMAT_GRAY)}) {
    const train::Image image = Decoded(file);
    LONGS_EQUAL(3, image.channels);
    for (const int x : {0, 13, 29}) {
      LONGS_EQUAL(Pixel(image, 0, 7, x), Pixel(image, 1, 7, x));
      LONGS_EQUAL(Pixel(image, 0, 7, x), Pixel(image, 2, 7, x));
      CHECK_TRUE(std::abs(Pixel(image, 0, 7, x) - (7 * 30 + x) / 3) <= 4);
    }
  }
}

TEST(ImageFile, ReadsCmykAsAdobeWritesIt) {
  Bytes cmyk;
  for (int i = 0; i < 32 * 32; ++i) {
    for (const int value : {255, 128, 0, 200}) cmyk.push_back(static_cast<uint8_t>(value));
  }
  const train::Image image = Decoded(JpegBytes(cmyk, 32, 32, TJPF_CMYK, TJSAMP_444));
  CHECK_TRUE(std::abs(Pixel(image, 0, 9, 9) - 200) <= 3);  // 255 * 200 / 255
  CHECK_TRUE(std::abs(Pixel(image, 1, 9, 9) - 100) <= 3);
  CHECK_TRUE(std::abs(Pixel(image, 2, 9, 9) - 0) <= 3);
}

TEST(ImageFile, DecodesPngExactly) {
  const Bytes rgb = Slope(17, 5);
  const train::Image image = Decoded(PngBytes(rgb.data(), 17, 5, PNG_FORMAT_RGB));
  CHECK_TRUE(image.channels == 3 && image.height == 5 && image.width == 17);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 17; ++x) {
      for (int c = 0; c < 3; ++c) LONGS_EQUAL(rgb[(y * 17 + x) * 3 + c], Pixel(image, c, y, x));
    }
  }
}

TEST(ImageFile, ShowsBlackThroughTransparency) {
  const Bytes rgba = {200, 100, 50, 255, 200, 100, 50, 0};
  const train::Image image = Decoded(PngBytes(rgba.data(), 2, 1, PNG_FORMAT_RGBA));
  LONGS_EQUAL(200, Pixel(image, 0, 0, 0));
  LONGS_EQUAL(50, Pixel(image, 2, 0, 0));
  for (int c = 0; c < 3; ++c) LONGS_EQUAL(0, Pixel(image, c, 0, 1));
}

TEST(ImageFile, ReadsSixteenBitPng) {
  const uint16_t linear[] = {0, 65535, 0, 65535};
  const train::Image image = Decoded(PngBytes(linear, 4, 1, PNG_FORMAT_LINEAR_Y));
  LONGS_EQUAL(0, Pixel(image, 1, 0, 0));
  LONGS_EQUAL(255, Pixel(image, 1, 0, 1));
}

TEST(ImageFile, DecodesALargeJpegAtTheSmallestSizeThatIsEnough) {
  const struct {
    int width;
    int height;
    int divisor;
  } cases[] = {{600, 1023, 1}, {1024, 1023, 2}, {1022, 1500, 1}, {2100, 2048, 4}};
  for (const auto& [width, height, divisor] : cases) {
    const train::Image image =
        Decoded(JpegBytes(Slope(width, height), width, height, TJPF_RGB, TJSAMP_420));
    LONGS_EQUAL((width + divisor - 1) / divisor, image.width);
    LONGS_EQUAL((height + divisor - 1) / divisor, image.height);
    CHECK_TRUE(std::abs(Pixel(image, 0, 5, image.width / 2) - 127) <= 8);
  }
}

TEST(ImageFile, RefusesFilesCutAnywhere) {
  const Bytes rgb = Slope(40, 40);
  const Bytes jpeg = JpegBytes(rgb, 40, 40, TJPF_RGB, TJSAMP_420);
  const Bytes png = PngBytes(rgb.data(), 40, 40, PNG_FORMAT_RGB);
  for (size_t length = 0; length + 2 < jpeg.size(); ++length) {
    CheckRefused(std::span(jpeg).first(length), length < 3 ? "is neither" : "is a damaged JPEG");
  }
  for (size_t length = 0; length + 12 < png.size(); ++length) {  // 12: the end chunk
    CheckRefused(std::span(png).first(length), length < 4 ? "is neither" : "is a damaged PNG");
  }
}

TEST(ImageFile, RefusesDamagedBytes) {
  const Bytes rgb = Slope(40, 40);
  Bytes png = PngBytes(rgb.data(), 40, 40, PNG_FORMAT_RGB);
  png[png.size() / 2] ^= 0x55;
  CheckRefused(png, "is a damaged PNG");
  Bytes jpeg = JpegBytes(rgb, 40, 40, TJPF_RGB, TJSAMP_420);
  for (size_t i = 3; i < 40; ++i) jpeg[i] = 0xFF;
  CheckRefused(jpeg, "is a damaged JPEG");
}

TEST(ImageFile, RefusesWhatIsNeither) {
  CheckRefused(Bytes(), "is neither JPEG nor PNG");
  CheckRefused(Bytes{'G', 'I', 'F', '8', '9', 'a'}, "is neither JPEG nor PNG");
}

TEST(ImageFile, RefusesAbsurdSizesBeforeTakingMemory) {
  const uint8_t pixel[3] = {};
  Bytes png = PngBytes(pixel, 1, 1, PNG_FORMAT_RGB);
  // Width and height are at 16 and 20; libpng wants their chunk's checksum right.
  const uint8_t header[] = {0, 0, 0x80, 0, 0, 0, 0x80, 0};
  std::copy(std::begin(header), std::end(header), png.begin() + 16);
  const uint8_t checksum[] = {0x4B, 0x1E, 0x34, 0x28};
  std::copy(std::begin(checksum), std::end(checksum), png.begin() + 29);
  CheckRefused(png, "is too large with 32768 x 32768 pixels");
}

}  // namespace weft::apps
