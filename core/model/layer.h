// SPDX-License-Identifier: Apache-2.0
// What each layer of a network computes, as plain values: everything a kernel must know besides
// the data. Meanings and defaults are PyTorch's, because its checkpoints are trained further here.
#pragma once

#include <string_view>
#include <variant>

namespace weft::model {

// One number for each image axis; `3` stands for {3, 3}.
struct Hw {
  constexpr Hw(int both) : h(both), w(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Hw(int height, int width) : h(height), w(width) {}

  friend bool operator==(const Hw&, const Hw&) = default;

  int h;
  int w;
};

// A channel or feature count of 0 on the input side of a layer means "whatever arrives": the graph
// builder fills it in, and a finished graph holds the real number.

// The image handed to the network. Every graph has one, and it is node 0.
struct Input {};

struct Conv2d {
  int in_channels = 0;
  int out_channels = 0;
  Hw kernel = 1;
  Hw stride = 1;
  Hw padding = 0;  // zeros, on both sides of the axis
  Hw dilation = 1;
  int groups = 1;  // == in_channels: depthwise
  bool bias = true;
};

struct Linear {
  int in_features = 0;
  int out_features = 0;
  bool bias = true;
};

// Training normalises with the batch's own statistics and moves the running ones towards them:
// running += momentum * (batch - running), with the unbiased variance. Inference uses the running.
struct BatchNorm {
  int channels = 0;
  double eps = 1e-5;
  double momentum = 0.1;
};

struct Relu {};

struct Relu6 {};  // min(max(x, 0), 6)

// Padding never wins the maximum. With ceil_mode a last, partly outside window is added, provided
// that it starts inside the image or its leading padding.
struct MaxPool {
  Hw kernel;
  Hw stride;
  Hw padding = 0;
  bool ceil_mode = false;
};

// The divisor counts padding only with count_include_pad, and never the cells that a ceil_mode
// window reaches beyond the padding.
struct AvgPool {
  Hw kernel;
  Hw stride;
  Hw padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

// Output cell i of n averages input cells floor(i * in / n) .. ceil((i + 1) * in / n) - 1. An
// output of 1 is the global average; an output larger than the input repeats cells.
struct AdaptiveAvgPool {
  Hw output = 1;
};

struct Add {};  // of two or more equal shapes

struct Concat {};  // along the channels, in the order of the inputs

// Training zeroes each value with this probability and scales the others by 1 / (1 - probability).
struct Dropout {
  double probability = 0.5;
};

struct Flatten {};  // [C][H][W] -> [C*H*W]

using Layer = std::variant<Input, Conv2d, Linear, BatchNorm, Relu, Relu6, MaxPool, AvgPool,
                           AdaptiveAvgPool, Add, Concat, Dropout, Flatten>;

// "conv2d", "max_pool", ...: for messages and tables.
std::string_view KindName(const Layer& layer);

// Convolutions and linear layers: what the depth of a network counts. A batch normalisation has
// parameters too, but goes with its convolution.
bool IsWeighted(const Layer& layer);

}  // namespace weft::model
