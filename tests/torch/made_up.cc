// SPDX-License-Identifier: Apache-2.0
#include "tests/torch/made_up.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "core/model/graph_builder.h"
#include "core/rng.h"

namespace weft::train {
namespace {

Rng StreamOf(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return Rng(1, hash);
}

uint8_t NextByte(Rng& rng) { return static_cast<uint8_t>(rng.Next() >> 56); }

// Values of the tensor are uniform in [centre - radius, centre + radius).
struct Band {
  double centre = 0;
  double radius = 0;
};

Band BandOf(const model::TensorSpec& tensor) {
  if (tensor.shape.rank() > 1) {
    const int64_t fan_in = tensor.shape.elements() / tensor.shape[0];
    return {0, std::sqrt(6 / static_cast<double>(fan_in))};
  }
  if (tensor.name.ends_with("running_mean")) return {0, 0.25};
  for (const char* end_of_branch : {"bn2.weight", "bn3.weight", "conv.3.weight"}) {
    if (tensor.name.ends_with(end_of_branch)) return {0.5, 0.125};
  }
  return {1, 0.25};
}

}  // namespace

void MakeUp(Parameters& parameters) {
  const std::span<const model::TensorSpec> tensors = parameters.graph().tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto id = static_cast<model::TensorId>(i);
    if (tensors[i].role == model::TensorRole::kBatchCounter) {
      parameters.Counter(id) = 0;
      continue;
    }
    Rng rng = StreamOf(tensors[i].name);
    const Band band = BandOf(tensors[i]);
    for (float& value : parameters.Tensor(id)) {
      value = static_cast<float>(band.centre + band.radius * (2 * rng.Fraction() - 1));
    }
  }
}

model::Graph WithoutDropout(const model::Graph& graph) {
  model::GraphBuilder builder(graph.name(), graph.input_shape());
  for (const model::Node& node : graph.nodes().subspan(1)) {  // the builder has the input already
    model::Layer layer = node.layer;
    if (auto* dropout = std::get_if<model::Dropout>(&layer)) dropout->probability = 0;
    builder.Add(node.name, layer, node.inputs);
  }
  return std::move(builder).Finish().value();
}

MadeUpImages::MadeUpImages(const Shape& shape, int classes, int64_t size)
    : Dataset({.name = "made up",
               .image_shape = shape,
               .classes = classes,
               .size = size,
               .normalisation = {std::vector<float>(static_cast<size_t>(shape[0]), 0.5f),
                                 std::vector<float>(static_cast<size_t>(shape[0]), 0.25f)},
               .variation = Variation::kNone}) {
  // Each channel of an image has 4 x 4 cells of one brightness, with a quarter of noise in them.
  const int64_t height = shape[1];
  const int64_t width = shape[2];
  Rng cell_stream = StreamOf("cells");
  Rng noise_stream = StreamOf("noise");
  for (int64_t channel = 0; channel < size * shape[0]; ++channel) {
    uint8_t cells[4][4];
    for (auto& row : cells) {
      for (uint8_t& cell : row) cell = NextByte(cell_stream);
    }
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int smooth = cells[y * 4 / height][x * 4 / width];
        pixels_.push_back(static_cast<uint8_t>((3 * smooth + NextByte(noise_stream)) / 4));
      }
    }
  }
  Rng label_stream = StreamOf("labels");
  for (int64_t i = 0; i < size; ++i) {
    labels_.push_back(static_cast<int>(label_stream.Next() % static_cast<uint64_t>(classes)));
  }
}

Result<int> MadeUpImages::Read(int64_t index, Image& image) const {
  const Shape& shape = image_shape();
  image.Reshape(static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]));
  std::copy_n(pixels_.begin() + index * shape.elements(), shape.elements(), image.pixels.begin());
  return labels_[static_cast<size_t>(index)];
}

}  // namespace weft::train
