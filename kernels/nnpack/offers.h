// SPDX-License-Identifier: Apache-2.0
// What the files of this folder offer, a function for each kind of layer in the file named after
// it. Activations are plain.
#pragma once

#include <memory>
#include <vector>

#include "core/kernel.h"
#include "kernels/nnpack/device.h"

namespace weft::nnpack {

using Offers = std::vector<std::unique_ptr<Kernel>>;

void Offer(const model::Conv2d& conv, const OpSpec& op, Role role, const Device& device,
           Offers& offers);

}  // namespace weft::nnpack
