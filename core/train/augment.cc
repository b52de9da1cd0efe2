// SPDX-License-Identifier: Apache-2.0
#include "core/train/augment.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace weft::train {
namespace {

// Keeps views apart from whatever else is drawn from the job's seed.
constexpr uint64_t kViewSalt = 0x6175676D656E7473u;

constexpr int kPad = 4;

// Width to height of a random part.
constexpr double kNarrowest = 3.0 / 4;
constexpr double kWidest = 4.0 / 3;

// Where one output coordinate lies: between two neighbouring pixels of the image.
struct Tap {
  int low = 0;
  int high = 0;
  float share = 0;  // of high
};

Tap TapOf(int out, int out_size, int view_size, int view_begin) {
  const float scale = static_cast<float>(view_size) / static_cast<float>(out_size);
  const float at = std::max(0.0f, (static_cast<float>(out) + 0.5f) * scale - 0.5f);
  const int low = std::min(static_cast<int>(at), view_size - 1);
  const int high = std::min(low + 1, view_size - 1);
  return {view_begin + low, view_begin + high, at - static_cast<float>(low)};
}

// One channel of an image with black around it.
class Plane {
 public:
  Plane(const Image& image, int channel)
      : pixels_(image.pixels.data() + static_cast<size_t>(channel) * image.height * image.width),
        height_(image.height),
        width_(image.width) {}

  uint8_t At(int y, int x) const {
    return y < 0 || y >= height_ || x < 0 || x >= width_ ? 0 : pixels_[y * width_ + x];
  }

 private:
  const uint8_t* pixels_;  // [H][W]
  int height_;
  int width_;
};

void Copy(const Image& image, const View& view, const Normaliser& normaliser, float* dst) {
  for (int c = 0; c < image.channels; ++c) {
    const Plane plane(image, c);
    for (int y = 0; y < view.height; ++y) {
      for (int x = 0; x < view.width; ++x) {
        const int from = view.left + (view.flip ? view.width - 1 - x : x);
        *dst++ = normaliser.FromByte(c, plane.At(view.top + y, from));
      }
    }
  }
}

void Resize(const Image& image, const View& view, const Normaliser& normaliser, int height,
            int width, float* dst) {
  std::array<Tap, 64> columns;  // what all rows of all channels share, a strip at a time
  for (int left = 0; left < width; left += static_cast<int>(columns.size())) {
    const int strip = std::min(width - left, static_cast<int>(columns.size()));
    for (int i = 0; i < strip; ++i) {
      const int x = left + i;
      columns[i] = TapOf(view.flip ? width - 1 - x : x, width, view.width, view.left);
    }
    for (int c = 0; c < image.channels; ++c) {
      const Plane plane(image, c);
      for (int y = 0; y < height; ++y) {
        const Tap row = TapOf(y, height, view.height, view.top);
        float* out = dst + (static_cast<int64_t>(c) * height + y) * width + left;
        for (int i = 0; i < strip; ++i) {
          const auto& [low, high, share] = columns[i];
          const float upper =
              plane.At(row.low, low) * (1 - share) + plane.At(row.low, high) * share;
          const float lower =
              plane.At(row.high, low) * (1 - share) + plane.At(row.high, high) * share;
          out[i] = normaliser.FromFloat(c, upper * (1 - row.share) + lower * row.share);
        }
      }
    }
  }
}

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

View InTheMiddle(const Image& image, int height, int width) {
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

}  // namespace

View WholeView(const Image& image) { return {0, 0, image.height, image.width}; }

View ShiftedView(const Image& image, int pad, Rng& rng) {
  View view = WholeView(image);
  view.top = static_cast<int>(rng.Between(-pad, pad));
  view.left = static_cast<int>(rng.Between(-pad, pad));
  return view;
}

View ResizedCropView(const Image& image, Rng& rng) {
  const double area = static_cast<double>(image.height) * image.width;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * (0.08 + 0.92 * rng.Fraction());
    // Even in the logarithm: 3:4 is as likely as 4:3.
    const double ratio = kNarrowest * std::pow(kWidest / kNarrowest, rng.Fraction());
    const int width = Rounded(std::sqrt(part * ratio));
    const int height = Rounded(std::sqrt(part / ratio));
    if (width < 1 || width > image.width || height < 1 || height > image.height) continue;
    const int top = static_cast<int>(rng.Between(0, image.height - height));
    const int left = static_cast<int>(rng.Between(0, image.width - width));
    return {top, left, height, width};
  }
  const double ratio = static_cast<double>(image.width) / image.height;
  if (ratio < kNarrowest) {
    return InTheMiddle(image, Rounded(image.width / kNarrowest), image.width);
  }
  if (ratio > kWidest) return InTheMiddle(image, image.height, Rounded(image.height * kWidest));
  return WholeView(image);
}

View CentreView(const Image& image, int height, int width) {
  // Pixels of the image per pixel shown; no more than fit when the shapes differ much.
  const double by_shorter = std::min(image.height, image.width) * 7.0 / 8 / std::min(height, width);
  const double scale = std::min({by_shorter, static_cast<double>(image.height) / height,
                                 static_cast<double>(image.width) / width});
  return InTheMiddle(image, std::max(1, Rounded(height * scale)),
                     std::max(1, Rounded(width * scale)));
}

View RandomView(const Image& image, Variation variation, int height, int width, Rng& rng) {
  if (variation == Variation::kNone) return PlainView(image, variation, height, width);
  View view = variation == Variation::kShiftAndFlip ? ShiftedView(image, kPad, rng)
                                                    : ResizedCropView(image, rng);
  view.flip = rng.Between(0, 1) == 1;
  return view;
}

View PlainView(const Image& image, Variation variation, int height, int width) {
  return variation == Variation::kResizeAndFlip ? CentreView(image, height, width)
                                                : WholeView(image);
}

Rng ViewRng(uint64_t seed, int64_t epoch, int64_t index) {
  assert(epoch >= 0 && index >= 0 && index <= INT32_MAX);
  return Rng(seed ^ kViewSalt, static_cast<uint64_t>(epoch) << 32 | static_cast<uint64_t>(index));
}

Normaliser::Normaliser(const Normalisation& normalisation) {
  for (size_t c = 0; c < normalisation.mean.size(); ++c) {
    const float mean = normalisation.mean[c];
    const float deviation = normalisation.deviation[c];
    assert(deviation > 0);
    for (int value = 0; value < 256; ++value) {
      table_.push_back((static_cast<float>(value) / 255 - mean) / deviation);
    }
    scale_.push_back(1 / (255 * deviation));
    shift_.push_back(-mean / deviation);
  }
}

void Render(const Image& image, const View& view, const Normaliser& normaliser, int height,
            int width, std::span<float> dst) {
  assert(image.channels == normaliser.channels());
  assert(view.height > 0 && view.width > 0 && height > 0 && width > 0);
  assert(dst.size() == static_cast<size_t>(image.channels) * height * width);
  if (view.height == height && view.width == width) {
    Copy(image, view, normaliser, dst.data());
  } else {
    Resize(image, view, normaliser, height, width, dst.data());
  }
}

}  // namespace weft::train
