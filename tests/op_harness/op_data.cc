// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/op_data.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "core/model/layer_tensors.h"
#include "core/model/shape_inference.h"
#include "core/rng.h"

namespace weft::harness {
namespace {

using model::Hw;

Shape ImageOf(const Shape& batch) {
  if (batch.rank() == 2) return {batch[1]};
  return {batch[1], batch[2], batch[3]};
}

Shape BatchOf(int64_t images, const Shape& image) {
  if (image.rank() == 1) return {images, image[0]};
  return {images, image[0], image[1], image[2]};
}

// golden/write_golden.py makes the same numbers: change both.
std::vector<float> Values(int64_t count, Fill fill, uint64_t seed, uint64_t stream) {
  Rng rng(seed, stream);
  std::vector<float> values(count);
  switch (fill) {
    case Fill::kUniform:
      for (float& v : values) v = static_cast<float>(6 * rng.Fraction() - 3);
      break;
    case Fill::kGrid:
      for (float& v : values) v = static_cast<float>(rng.Between(-12, 12)) / 4;
      break;
    case Fill::kSpread:
      for (int64_t i = 0; i < count; ++i) {
        values[i] = (static_cast<float>(i - count / 2) + 0.5f) / 8;
        std::swap(values[i], values[rng.Between(0, i)]);
      }
      break;
  }
  return values;
}

std::string Text(Hw value) { return std::to_string(value.h) + "x" + std::to_string(value.w); }

std::string Text(const model::Conv2d& conv) {
  return " " + std::to_string(conv.in_channels) + "->" + std::to_string(conv.out_channels) + " k" +
         Text(conv.kernel) + " s" + Text(conv.stride) + " p" + Text(conv.padding) + " d" +
         Text(conv.dilation) + " g" + std::to_string(conv.groups) + (conv.bias ? " bias" : "");
}

std::string Text(const model::Linear& linear) { return linear.bias ? " bias" : ""; }

std::string Text(const model::BatchNorm& norm) {
  return " eps " + std::to_string(norm.eps) + " momentum " + std::to_string(norm.momentum);
}

template <typename Pool>
std::string WindowText(const Pool& pool) {
  return " k" + Text(pool.kernel) + " s" + Text(pool.stride) + " p" + Text(pool.padding) +
         (pool.ceil_mode ? " ceil" : "");
}

std::string Text(const model::MaxPool& pool) { return WindowText(pool); }

std::string Text(const model::AvgPool& pool) {
  return WindowText(pool) + (pool.count_include_pad ? "" : " without padding");
}

std::string Text(const model::Dropout& dropout) {
  return " " + std::to_string(dropout.probability);
}

// The shapes say the rest.
template <typename Other>
std::string Text(const Other&) {
  return "";
}

}  // namespace

OpSpec MakeOp(model::Layer layer, std::vector<Shape> srcs, Activation activation) {
  std::vector<Shape> images;
  for (const Shape& src : srcs) images.push_back(ImageOf(src));
  OpSpec op;
  op.layer = model::WithInputCounts(std::move(layer), images);
  op.activation = activation;
  op.dst = BatchOf(srcs[0][0], model::InferShape(op.layer, images).value());
  op.srcs = std::move(srcs);
  return op;
}

OpSpec InInference(OpSpec op) {
  op.training = false;
  return op;
}

std::string Describe(const OpSpec& op) {
  std::string text(model::KindName(op.layer));
  text += std::visit([](const auto& layer) { return Text(layer); }, op.layer);
  if (op.activation == Activation::kRelu) text += " + relu";
  if (op.activation == Activation::kRelu6) text += " + relu6";
  if (!op.training) text += " in inference";
  text += ":";
  for (const Shape& src : op.srcs) text += " " + src.ToString();
  return text + " -> " + op.dst.ToString();
}

OpData MakeData(const OpSpec& op, Fill fill, uint64_t seed) {
  OpData data;
  uint64_t src_stream = 0, param_stream = 16, running_stream = 32;
  for (const Shape& src : op.srcs) {
    data.srcs.push_back(Values(src.elements(), fill, seed, src_stream++));
  }
  for (const model::TensorSpec& tensor : model::TensorsOf(op.layer, "")) {
    const int64_t count = tensor.shape.elements();
    if (tensor.role == model::TensorRole::kParameter) {
      data.params.push_back(Values(count, fill, seed, param_stream++));
    } else if (tensor.role == model::TensorRole::kRunningStatistic) {
      data.running.push_back(Values(count, fill, seed, running_stream++));
    }
  }
  if (!data.running.empty()) {
    for (float& variance : data.running[1]) variance = std::fabs(variance) + 0.5f;
  }
  data.d_dst = Values(op.dst.elements(), fill, seed, 48);
  return data;
}

}  // namespace weft::harness
