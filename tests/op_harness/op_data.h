// SPDX-License-Identifier: Apache-2.0
// The ops under test and the numbers they are given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel.h"
#include "core/model/layer.h"
#include "core/shape.h"

namespace weft::harness {

// The op of `layer` for sources with the batch in front, in training. Input counts may be left at
// 0; a layer that does not fit its sources is a bug.
OpSpec MakeOp(model::Layer layer, std::vector<Shape> srcs,
              Activation activation = Activation::kNone);
OpSpec InInference(OpSpec op);

// Everything that tells one op from another, in one line:
// "conv2d 3->64 k7x7 s2x2 p3x3 d1x1 g1 + relu: [8, 3, 224, 224] -> [8, 64, 112, 112]".
std::string Describe(const OpSpec& op);

// What fills the tensors of an op. Running variances are made positive.
enum class Fill {
  kUniform,  // between -3 and 3
  kGrid,     // -3, -2.75 .. 3: products are exact, maxima tie, activations meet their kinks
  kSpread,   // no two values of a tensor, nor 0 and 6, closer than 1/16: no kink is near
};

struct OpData {
  std::vector<std::vector<float>> srcs;
  std::vector<std::vector<float>> params;
  std::vector<std::vector<float>> running;
  std::vector<float> d_dst;
  // What backward is given as forward's result; empty: what the forward kernel made.
  std::vector<float> dst = {};
  uint64_t draw = 1;
  bool again = false;
};

OpData MakeData(const OpSpec& op, Fill fill = Fill::kUniform, uint64_t seed = 1);

}  // namespace weft::harness
