// SPDX-License-Identifier: Apache-2.0
#include "apps/data/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace weft::apps {
namespace {

constexpr int kEnoughPixels = 512;  // of the shorter side
constexpr int64_t kMostPixels = 32 << 20;

Status CheckSize(int64_t width, int64_t height) {
  if (width * height <= kMostPixels) return Status::Ok();
  return Status::InvalidInput("is too large with " + std::to_string(width) + " x " +
                              std::to_string(height) +
                              " pixels; at most 32 megapixels are decoded");
}

void FromRgb(const std::vector<uint8_t>& rgb, int width, int height, train::Image& image) {
  image.Reshape(3, height, width);
  const size_t plane = image.pixels.size() / 3;
  for (size_t i = 0; i < plane; ++i) {
    for (size_t c = 0; c < 3; ++c) image.pixels[c * plane + i] = rgb[3 * i + c];
  }
}

void FromInvertedCmyk(const std::vector<uint8_t>& cmyk, int width, int height,
                      train::Image& image) {
  image.Reshape(3, height, width);
  const size_t plane = image.pixels.size() / 3;
  for (size_t i = 0; i < plane; ++i) {
    const int k = cmyk[4 * i + 3];
    for (size_t c = 0; c < 3; ++c) {
      image.pixels[c * plane + i] = static_cast<uint8_t>((cmyk[4 * i + c] * k + 127) / 255);
    }
  }
}

int Scaled(int pixels, int divisor) { return (pixels + divisor - 1) / divisor; }

Status DecodeJpeg(std::span<const uint8_t> file, train::Image& image) {
  struct Closer {
    void operator()(void* handle) const { tjDestroy(handle); }
  };
  const std::unique_ptr<void, Closer> jpeg(tjInitDecompress());
  if (jpeg == nullptr) return Status::Unavailable("no memory to decode it");
  const auto size = static_cast<unsigned long>(file.size());  // NOLINT(google-runtime-int)
  const auto damaged = [&] {
    return Status::InvalidInput(std::string("is a damaged JPEG: ") + tjGetErrorStr2(jpeg.get()));
  };

  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(jpeg.get(), file.data(), size, &width, &height, &subsampling, &colours) !=
      0) {
    return damaged();
  }
  int divisor = 8;
  while (divisor > 1 && Scaled(std::min(width, height), divisor) < kEnoughPixels) divisor /= 2;
  width = Scaled(width, divisor);
  height = Scaled(height, divisor);
  if (Status status = CheckSize(width, height); !status.ok()) return status;

  const bool cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
  const int format = cmyk ? TJPF_CMYK : TJPF_RGB;
  std::vector<uint8_t> pixels(static_cast<size_t>(width) * height * tjPixelSize[format]);
  // A warning also comes back as -1: the pixels after the damage would be grey.
  if (tjDecompress2(jpeg.get(), file.data(), size, pixels.data(), width, 0, height, format,
                    TJFLAG_LIMITSCANS) != 0) {
    return damaged();
  }
  if (cmyk) {
    FromInvertedCmyk(pixels, width, height, image);
  } else {
    FromRgb(pixels, width, height, image);
  }
  return Status::Ok();
}

Status DecodePng(std::span<const uint8_t> file, train::Image& image) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  const auto damaged = [&] {
    return Status::InvalidInput(std::string("is a damaged PNG: ") + png.message);
  };
  if (png_image_begin_read_from_memory(&png, file.data(), file.size()) == 0) return damaged();
  if (Status status = CheckSize(png.width, png.height); !status.ok()) {
    png_image_free(&png);
    return status;
  }
  png.format = PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(png));
  const png_color black = {0, 0, 0};
  if (png_image_finish_read(&png, &black, rgb.data(), 0, nullptr) == 0) return damaged();
  FromRgb(rgb, static_cast<int>(png.width), static_cast<int>(png.height), image);
  return Status::Ok();
}

bool BeginsWith(std::span<const uint8_t> file, std::initializer_list<uint8_t> start) {
  return file.size() >= start.size() && std::equal(start.begin(), start.end(), file.begin());
}

}  // namespace

Status DecodeImage(std::span<const uint8_t> file, train::Image& image) {
  if (BeginsWith(file, {0xFF, 0xD8, 0xFF})) return DecodeJpeg(file, image);
  if (BeginsWith(file, {0x89, 'P', 'N', 'G'})) return DecodePng(file, image);
  return Status::InvalidInput("is neither JPEG nor PNG");
}

}  // namespace weft::apps
