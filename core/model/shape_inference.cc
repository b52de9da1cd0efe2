// SPDX-License-Identifier: Apache-2.0
#include "core/model/shape_inference.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>

namespace weft::model {
namespace {

using Inputs = std::span<const Shape>;

std::string ToString(Hw value) { return std::to_string(value.h) + "x" + std::to_string(value.w); }

// The product stays in reach of an int32 whatever the extents are.
Status CheckSize(const char* what, std::initializer_list<int64_t> extents) {
  int64_t room = std::numeric_limits<int32_t>::max();
  std::string product;
  bool fits = true;
  for (int64_t extent : extents) {
    product += (product.empty() ? "" : "x") + std::to_string(extent);
    fits = fits && extent >= 1 && extent <= room;
    if (fits) room /= extent;
  }
  if (fits) return Status::Ok();
  return Status::InvalidInput(std::string(what) + " of " + product +
                              " must have between 1 and 2^31 - 1 elements");
}

Status CheckRank(const Shape& input, int rank) {
  if (input.rank() == rank) return Status::Ok();
  return Status::InvalidInput("takes " +
                              std::string(rank == 3 ? "an image [C, H, W]" : "a vector") +
                              " but is given " + input.ToString());
}

Status CheckCount(const char* what, int64_t expected, int64_t given) {
  if (expected == given) return Status::Ok();
  return Status::InvalidInput("takes " + std::to_string(expected) + " " + what + " but is given " +
                              std::to_string(given));
}

struct Window {
  Hw kernel;
  Hw stride;
  Hw padding;
  Hw dilation = 1;
  bool ceil_mode = false;
};

Status CheckWindow(const Window& window) {
  const auto at_least = [](Hw value, int least) { return value.h >= least && value.w >= least; };
  if (!at_least(window.kernel, 1) || !at_least(window.stride, 1) || !at_least(window.dilation, 1) ||
      !at_least(window.padding, 0)) {
    return Status::InvalidInput("cannot use kernel " + ToString(window.kernel) + ", stride " +
                                ToString(window.stride) + ", padding " + ToString(window.padding) +
                                ", dilation " + ToString(window.dilation));
  }
  return Status::Ok();
}

// How many windows fit along one axis; 0 if none does.
int64_t WindowsAlong(int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode) {
  // The first window ends on its last kernel cell; the others start in what is left after it.
  const int64_t left = input + 2 * padding - (dilation * (kernel - 1) + 1);
  const int64_t rounded = ceil_mode ? left + stride - 1 : left;
  if (rounded < 0) return 0;
  const int64_t windows = rounded / stride + 1;
  const bool last_starts_outside = (windows - 1) * stride >= input + padding;
  return ceil_mode && last_starts_outside ? windows - 1 : windows;
}

// The output [channels][H'][W'] of a window that slides over [C][H][W].
Result<Shape> Slide(const Window& window, const Shape& input, int64_t channels) {
  if (Status status = CheckWindow(window); !status.ok()) return status;
  const int64_t height = WindowsAlong(input[1], window.kernel.h, window.stride.h, window.padding.h,
                                      window.dilation.h, window.ceil_mode);
  const int64_t width = WindowsAlong(input[2], window.kernel.w, window.stride.w, window.padding.w,
                                     window.dilation.w, window.ceil_mode);
  if (height == 0 || width == 0) {
    return Status::InvalidInput("its kernel " + ToString(window.kernel) + " with dilation " +
                                ToString(window.dilation) + " is larger than the input " +
                                input.ToString() + " padded by " + ToString(window.padding));
  }
  if (Status status = CheckSize("its output", {channels, height, width}); !status.ok()) {
    return status;
  }
  return Shape{channels, height, width};
}

Result<Shape> Pool(const Window& window, const Shape& input) {
  if (Status status = CheckRank(input, 3); !status.ok()) return status;
  Result<Shape> output = Slide(window, input, input[0]);
  if (!output.ok()) return output;
  // More padding than half a kernel would make windows that see nothing but padding.
  if (window.padding.h > window.kernel.h / 2 || window.padding.w > window.kernel.w / 2) {
    return Status::InvalidInput("its padding " + ToString(window.padding) +
                                " is more than half of its kernel " + ToString(window.kernel));
  }
  return output;
}

// Infer: one overload for each kind of layer. Layers that join branches see all inputs.

Result<Shape> Infer(const Input&, const Shape&) {
  return Status::InvalidInput("a graph has one input only, its first node");
}

Result<Shape> Infer(const Conv2d& conv, const Shape& input) {
  if (Status status = CheckRank(input, 3); !status.ok()) return status;
  if (Status status = CheckCount("input channels", conv.in_channels, input[0]); !status.ok()) {
    return status;
  }
  if (conv.groups < 1 || conv.out_channels < 1 || conv.in_channels % conv.groups != 0 ||
      conv.out_channels % conv.groups != 0) {
    return Status::InvalidInput("cannot turn " + std::to_string(conv.in_channels) + " into " +
                                std::to_string(conv.out_channels) + " channels in " +
                                std::to_string(conv.groups) + " groups");
  }
  const Result<Shape> output =
      Slide({conv.kernel, conv.stride, conv.padding, conv.dilation}, input, conv.out_channels);
  if (!output.ok()) return output;
  const Status status = CheckSize("its weight", {conv.out_channels, conv.in_channels / conv.groups,
                                                 conv.kernel.h, conv.kernel.w});
  if (!status.ok()) return status;
  return output;
}

Result<Shape> Infer(const Linear& linear, const Shape& input) {
  if (Status status = CheckRank(input, 1); !status.ok()) return status;
  if (Status status = CheckCount("features", linear.in_features, input[0]); !status.ok()) {
    return status;
  }
  const Status status = CheckSize("its weight", {linear.out_features, linear.in_features});
  if (!status.ok()) return status;
  return Shape{linear.out_features};
}

Result<Shape> Infer(const BatchNorm& norm, const Shape& input) {
  if (Status status = CheckRank(input, 3); !status.ok()) return status;
  if (Status status = CheckCount("channels", norm.channels, input[0]); !status.ok()) return status;
  // Written so that NaN is refused too.
  if (!(norm.eps > 0) || !(norm.momentum >= 0 && norm.momentum <= 1)) {
    return Status::InvalidInput("needs an eps above 0 and a momentum between 0 and 1, not " +
                                std::to_string(norm.eps) + " and " + std::to_string(norm.momentum));
  }
  return input;
}

Result<Shape> Infer(const Relu&, const Shape& input) { return input; }

Result<Shape> Infer(const Relu6&, const Shape& input) { return input; }

Result<Shape> Infer(const MaxPool& pool, const Shape& input) {
  return Pool({pool.kernel, pool.stride, pool.padding, 1, pool.ceil_mode}, input);
}

Result<Shape> Infer(const AvgPool& pool, const Shape& input) {
  return Pool({pool.kernel, pool.stride, pool.padding, 1, pool.ceil_mode}, input);
}

Result<Shape> Infer(const AdaptiveAvgPool& pool, const Shape& input) {
  if (Status status = CheckRank(input, 3); !status.ok()) return status;
  const Status status = CheckSize("its output", {input[0], pool.output.h, pool.output.w});
  if (!status.ok()) return status;
  return Shape{input[0], pool.output.h, pool.output.w};
}

Result<Shape> Infer(const Dropout& dropout, const Shape& input) {
  if (dropout.probability >= 0 && dropout.probability < 1) return input;
  return Status::InvalidInput("its probability must be at least 0 and below 1, not " +
                              std::to_string(dropout.probability));
}

Result<Shape> Infer(const Flatten&, const Shape& input) {
  if (Status status = CheckRank(input, 3); !status.ok()) return status;
  return Shape{input.elements()};
}

Result<Shape> Infer(const Add&, Inputs inputs) {
  for (const Shape& input : inputs) {
    if (input == inputs[0]) continue;
    return Status::InvalidInput("cannot add " + inputs[0].ToString() + " and " + input.ToString());
  }
  return inputs[0];
}

Result<Shape> Infer(const Concat&, Inputs inputs) {
  int64_t channels = 0;
  for (const Shape& input : inputs) {
    if (Status status = CheckRank(input, 3); !status.ok()) return status;
    if (input[1] != inputs[0][1] || input[2] != inputs[0][2]) {
      return Status::InvalidInput("cannot join " + inputs[0].ToString() + " and " +
                                  input.ToString() + ", which differ in height or width");
    }
    channels += input[0];
  }
  const Shape output{channels, inputs[0][1], inputs[0][2]};
  const Status status = CheckSize("its output", {output[0], output[1], output[2]});
  if (!status.ok()) return status;
  return output;
}

template <typename Kind>
constexpr bool kJoinsBranches = std::is_same_v<Kind, Add> || std::is_same_v<Kind, Concat>;

}  // namespace

Status CheckImage(const Shape& shape) {
  if (shape.rank() == 3) return CheckSize("an image", {shape[0], shape[1], shape[2]});
  return Status::InvalidInput("an image is [C, H, W], not " + shape.ToString());
}

Layer WithInputCounts(Layer layer, std::span<const Shape> inputs) {
  if (inputs.empty() || inputs[0].rank() == 0) return layer;
  const int arriving = static_cast<int>(inputs[0][0]);
  const auto fill = [arriving](int& count) {
    if (count == 0) count = arriving;
  };
  if (auto* conv = std::get_if<Conv2d>(&layer)) fill(conv->in_channels);
  if (auto* linear = std::get_if<Linear>(&layer)) fill(linear->in_features);
  if (auto* norm = std::get_if<BatchNorm>(&layer)) fill(norm->channels);
  return layer;
}

Result<Shape> InferShape(const Layer& layer, std::span<const Shape> inputs) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) -> Result<Shape> {
        if constexpr (kJoinsBranches<Kind>) {
          if (inputs.size() >= 2) return Infer(kind, inputs);
          return Status::InvalidInput("needs two or more inputs, not " +
                                      std::to_string(inputs.size()));
        } else {
          if (inputs.size() == 1) return Infer(kind, inputs[0]);
          return Status::InvalidInput("takes one input, not " + std::to_string(inputs.size()));
        }
      },
      layer);
}

}  // namespace weft::model
