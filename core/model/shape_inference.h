// SPDX-License-Identifier: Apache-2.0
// From the shapes a layer is given to the shape it produces, with PyTorch's rounding, refusing
// what PyTorch would refuse. Shapes are those of one image, [C][H][W] or [F]: no layer here mixes
// images in a way that changes an extent, so the batch is left out.
#pragma once

#include <span>

#include "core/model/layer.h"
#include "core/shape.h"
#include "core/status.h"

namespace weft::model {

// Ok for a shape a network can start from: [C][H][W], no axis empty.
Status CheckImage(const Shape& shape);

// `layer` with the input counts it left at 0 taken from the first of `inputs`.
Layer WithInputCounts(Layer layer, std::span<const Shape> inputs);

// The shape of one image of the output. InvalidInput says what does not fit, without the layer's
// name: the caller knows it. After Ok, neither the output nor any tensor of the layer has more
// than 2^31 - 1 elements.
Result<Shape> InferShape(const Layer& layer, std::span<const Shape> inputs);

}  // namespace weft::model
