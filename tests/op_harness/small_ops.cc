// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/small_ops.h"

#include <vector>

#include "tests/op_harness/op_data.h"

namespace weft::harness {
namespace {

using namespace weft::model;

constexpr Activation kRelu = Activation::kRelu;
constexpr Activation kRelu6 = Activation::kRelu6;

// golden/write_golden.py has the same list: change both.
std::vector<SmallOp> MakeSmallOps() {
  const Shape image{2, 2, 5, 4};
  const Shape wide{2, 4, 3, 5};
  return {
      {"conv2d", MakeOp(Conv2d{.out_channels = 3, .kernel = 3}, {image})},
      {"conv2d_1x1_no_bias", MakeOp(Conv2d{.out_channels = 3, .bias = false}, {image})},
      {"conv2d_padding", MakeOp(Conv2d{.out_channels = 3, .kernel = 3, .padding = 1}, {image})},
      {"conv2d_stride",
       MakeOp(Conv2d{.out_channels = 3, .kernel = 3, .stride = 2, .padding = 1}, {image})},
      {"conv2d_stride_beyond_kernel",
       MakeOp(Conv2d{.out_channels = 3, .kernel = 1, .stride = 2}, {image})},
      {"conv2d_dilation",
       MakeOp(Conv2d{.out_channels = 3, .kernel = 2, .padding = 2, .dilation = {2, 3}}, {image})},
      {"conv2d_padding_beyond_kernel",
       MakeOp(Conv2d{.out_channels = 2, .kernel = 2, .stride = 3, .padding = 3}, {image})},
      {"conv2d_rectangular",
       MakeOp(Conv2d{.out_channels = 3, .kernel = {1, 3}, .stride = {2, 1}, .padding = {0, 1}},
              {image})},
      {"conv2d_groups",
       MakeOp(Conv2d{.out_channels = 6, .kernel = 3, .padding = 1, .groups = 2, .bias = false},
              {wide})},
      {"conv2d_depthwise",
       MakeOp(Conv2d{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1, .groups = 4},
              {wide})},
      {"conv2d_depthwise_twice",
       MakeOp(Conv2d{.out_channels = 8, .kernel = {3, 2}, .padding = 1, .groups = 4}, {wide})},
      {"conv2d_relu", MakeOp(Conv2d{.out_channels = 3, .kernel = 3}, {image}, kRelu)},
      {"conv2d_relu6", MakeOp(Conv2d{.out_channels = 3, .kernel = 3}, {image}, kRelu6)},
      {"linear", MakeOp(Linear{.out_features = 4}, {Shape{3, 7}})},
      {"linear_no_bias", MakeOp(Linear{.out_features = 5, .bias = false}, {Shape{1, 3}})},
      {"linear_relu", MakeOp(Linear{.out_features = 4}, {Shape{3, 7}}, kRelu)},
      {"linear_relu6", MakeOp(Linear{.out_features = 4}, {Shape{3, 7}}, kRelu6)},
      {"batch_norm", MakeOp(BatchNorm{}, {image})},
      {"batch_norm_eps_momentum", MakeOp(BatchNorm{.eps = 0.5, .momentum = 0.75}, {image})},
      {"batch_norm_relu", MakeOp(BatchNorm{}, {image}, kRelu)},
      {"batch_norm_relu6", MakeOp(BatchNorm{}, {image}, kRelu6)},
      {"batch_norm_inference", InInference(MakeOp(BatchNorm{}, {image}))},
      {"batch_norm_relu6_inference", InInference(MakeOp(BatchNorm{}, {image}, kRelu6))},
      {"relu", MakeOp(Relu{}, {image})},
      {"relu_of_features", MakeOp(Relu{}, {Shape{3, 7}})},
      {"relu6", MakeOp(Relu6{}, {Shape{2, 4, 5, 4}})},
      {"max_pool", MakeOp(MaxPool{.kernel = 2, .stride = 2}, {image})},
      {"max_pool_overlapping", MakeOp(MaxPool{.kernel = 3, .stride = 1, .padding = 1}, {image})},
      {"max_pool_ceil", MakeOp(MaxPool{.kernel = 2, .stride = 2, .ceil_mode = true}, {image})},
      {"max_pool_ceil_drops_last",
       MakeOp(MaxPool{.kernel = 2, .stride = 2, .padding = 1, .ceil_mode = true}, {image})},
      {"max_pool_rectangular",
       MakeOp(MaxPool{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .ceil_mode = true},
              {image})},
      {"avg_pool", MakeOp(AvgPool{.kernel = 2, .stride = 2}, {image})},
      {"avg_pool_padding", MakeOp(AvgPool{.kernel = 3, .stride = 2, .padding = 1}, {image})},
      {"avg_pool_without_padding",
       MakeOp(AvgPool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false},
              {image})},
      {"avg_pool_ceil",
       MakeOp(AvgPool{.kernel = 3, .stride = 2, .padding = {0, 1}, .ceil_mode = true},
              {Shape{2, 2, 6, 5}})},
      {"avg_pool_ceil_without_padding", MakeOp(AvgPool{.kernel = {2, 3},
                                                       .stride = {2, 3},
                                                       .padding = {1, 1},
                                                       .ceil_mode = true,
                                                       .count_include_pad = false},
                                               {image})},
      {"adaptive_avg_pool_global", MakeOp(AdaptiveAvgPool{}, {image})},
      {"adaptive_avg_pool", MakeOp(AdaptiveAvgPool{.output = {3, 2}}, {image})},
      {"adaptive_avg_pool_repeating", MakeOp(AdaptiveAvgPool{.output = {7, 3}}, {image})},
      {"add", MakeOp(Add{}, {image, image})},
      {"add_three_relu", MakeOp(Add{}, {image, image, image}, kRelu)},
      {"add_three_relu6", MakeOp(Add{}, {image, image, image}, kRelu6)},
      {"add_of_features", MakeOp(Add{}, {Shape{3, 7}, Shape{3, 7}})},
      {"concat", MakeOp(Concat{}, {Shape{2, 1, 3, 4}, Shape{2, 3, 3, 4}, Shape{2, 2, 3, 4}})},
      {"dropout", MakeOp(Dropout{}, {image})},
      {"dropout_of_features", MakeOp(Dropout{.probability = 0.2}, {Shape{3, 7}})},
      {"dropout_inference", InInference(MakeOp(Dropout{}, {image}))},
      {"flatten", MakeOp(Flatten{}, {image})},
  };
}

}  // namespace

std::span<const SmallOp> SmallOps() {
  static const std::vector<SmallOp> ops = MakeSmallOps();
  return ops;
}

}  // namespace weft::harness
