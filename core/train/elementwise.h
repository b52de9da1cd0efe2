// SPDX-License-Identifier: Apache-2.0
// The few operations a network needs between kernels. They work cell by cell, so the channel
// block does not matter to them.
#pragma once

#include <memory>

#include "core/kernel.h"
#include "core/parallel.h"

namespace weft::train {

// Backward of a joined activation, in place: d_srcs[0], which is d_dst's memory, keeps only the
// cells that dst let through.
std::unique_ptr<Kernel> MaskByActivation(Parallel& parallel, Activation activation,
                                         int64_t elements);

// dst = srcs[0] + srcs[1]; dst may be either of them.
std::unique_ptr<Kernel> SumOfTwo(Parallel& parallel, int64_t elements);

}  // namespace weft::train
