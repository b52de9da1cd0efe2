// SPDX-License-Identifier: Apache-2.0
// Holds the gradients that a backend computes against finite differences of its own forward.
#pragma once

#include <string>

#include "core/kernel.h"
#include "tests/op_harness/op_data.h"

namespace weft::harness {

// Moves every value of every source and parameter up and down by a small step and compares what
// that does to sum(d_dst * dst) with the gradient from the backward kernels, the first that
// `backend` offers. Values whose step crosses a kink of an activation are skipped, but no more than
// half of a tensor; for max pooling use data without near ties. Returns what is wrong, or "".
std::string CheckGradients(const OpSpec& op, Backend& backend, Fill fill);

}  // namespace weft::harness
