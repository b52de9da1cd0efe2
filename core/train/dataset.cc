// SPDX-License-Identifier: Apache-2.0
#include "core/train/dataset.h"

#include <cassert>
#include <utility>

namespace weft::train {

void Image::Reshape(int new_channels, int new_height, int new_width) {
  assert(new_channels > 0 && new_height > 0 && new_width > 0);
  channels = new_channels;
  height = new_height;
  width = new_width;
  pixels.resize(static_cast<size_t>(channels) * height * width);
}

Dataset::Dataset(Facts facts) : facts_(std::move(facts)) {
  assert(facts_.image_shape.rank() == 3 && facts_.image_shape[0] > 0);
  assert((facts_.image_shape[1] == 0) == (facts_.image_shape[2] == 0));
  assert(facts_.classes > 0 && facts_.size > 0);
  [[maybe_unused]] const auto channels = static_cast<size_t>(facts_.image_shape[0]);
  assert(facts_.normalisation.mean.size() == channels);
  assert(facts_.normalisation.deviation.size() == channels);
}

}  // namespace weft::train
