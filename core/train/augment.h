// SPDX-License-Identifier: Apache-2.0
// From a decoded image to the numbers a network sees, in two steps: choose which part of the
// image is shown (a View, where all randomness is), then render that part at the network's size,
// normalised. Pure functions: the same image, view and normalisation give the same floats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.h"
#include "core/train/dataset.h"

namespace weft::train {

// The part of an image that is shown, in its pixels. Outside of the image it is black.
struct View {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  bool flip = false;  // left to right
};

View WholeView(const Image& image);

// As large as the image, moved by up to `pad` pixels each way; CIFAR's random crop after zero
// padding.
View ShiftedView(const Image& image, int pad, Rng& rng);

// A random part of 8 to 100 % of the area with sides from 3:4 to 4:3, or the largest such part
// from the middle where ten tries find none; torchvision's RandomResizedCrop.
View ResizedCropView(const Image& image, Rng& rng);

// What a centre crop of `height` x `width` shows once the shorter side has been resized to 8/7 of
// theirs (256 for 224), to whole pixels of the image.
View CentreView(const Image& image, int height, int width);

// How a sample is shown in training, and without chance: in evaluation or when not augmented.
View RandomView(const Image& image, Variation variation, int height, int width, Rng& rng);
View PlainView(const Image& image, Variation variation, int height, int width);

// The stream for one sample's view: whichever thread draws it, and in which order.
Rng ViewRng(uint64_t seed, int64_t epoch, int64_t index);

// Normalisation made ready for use.
class Normaliser {
 public:
  explicit Normaliser(const Normalisation& normalisation);

  int channels() const { return static_cast<int>(scale_.size()); }
  float FromByte(int channel, uint8_t value) const { return table_[channel * 256 + value]; }
  float FromFloat(int channel, float value) const {
    return value * scale_[channel] + shift_[channel];
  }

 private:
  std::vector<float> table_;  // [C][256]
  std::vector<float> scale_;  // [C]
  std::vector<float> shift_;  // [C]
};

// Writes the view to dst, [C][height][width]. A view of another size is resized: bilinear, pixel
// centres at halves, edges repeated, and no smoothing when shrinking, as PyTorch's
// interpolate(align_corners=False, antialias=False). The view is cut out first, so that pixels
// beside it do not shine in.
void Render(const Image& image, const View& view, const Normaliser& normaliser, int height,
            int width, std::span<float> dst);

}  // namespace weft::train
