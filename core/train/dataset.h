// SPDX-License-Identifier: Apache-2.0
// The seam between training and where images come from: a numbered set of labelled images. The
// readers of real files are in apps/data; a test may make its images up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "core/status.h"

namespace weft::train {

// One image as decoded. Meant to be filled again and again: storage grows and stays.
struct Image {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<uint8_t> pixels;  // [channels][height][width]

  void Reshape(int new_channels, int new_height, int new_width);
};

// By channel, of pixels scaled to [0, 1]: the network sees (pixel / 255 - mean) / deviation.
struct Normalisation {
  std::vector<float> mean;
  std::vector<float> deviation;
};

// What training may do to an image of the set without changing its class.
enum class Variation {
  kNone,           // digits: shifted off the edge or mirrored, they are others
  kShiftAndFlip,   // as usual for CIFAR: moved by up to 4 pixels, mirrored half the time
  kResizeAndFlip,  // as usual for photos: a random part of the image, mirrored half the time
};

class Dataset {
 public:
  struct Facts {
    std::string name;   // for people: "cifar10 (train)"
    Shape image_shape;  // [C][H][W]; [C][0][0] where images differ in size
    int classes = 0;    // labels are 0 .. classes - 1
    int64_t size = 0;   // samples
    Normalisation normalisation;
    Variation variation = Variation::kNone;
  };

  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const std::string& name() const { return facts_.name; }
  const Shape& image_shape() const { return facts_.image_shape; }
  int classes() const { return facts_.classes; }
  int64_t size() const { return facts_.size; }
  const Normalisation& normalisation() const { return facts_.normalisation; }
  Variation variation() const { return facts_.variation; }

  // Fills `image` with sample `index` of [0, size()) and returns its label. Equal indices give
  // equal pixels. A sample that cannot be read is a Status that names it, and stays one sample:
  // the others can still be read. Thread: any, several at once, each with its own image.
  virtual Result<int> Read(int64_t index, Image& image) const = 0;

 protected:
  // Asserts what every set must have: a class, a sample, a normalisation for each channel.
  explicit Dataset(Facts facts);

 private:
  const Facts facts_;
};

}  // namespace weft::train
