// SPDX-License-Identifier: Apache-2.0
// Holds the kernels of a backend against the reference.
#pragma once

#include <span>
#include <string>

#include "core/kernel.h"
#include "tests/op_harness/op_data.h"

namespace weft::harness {

// The largest distance between the two over the largest magnitude of `want`. Infinite if their
// sizes differ, or if one has a NaN where the other has none.
double RelativeError(std::span<const float> got, std::span<const float> want);

struct Tolerance {  // of RelativeError
  double exact;     // for kernels that say they are
  double inexact;   // for the others
};

// Holds every kernel that `backend` offers for `op`, in every role, against the reference: results
// within the tolerance, equal bits when run again, equal bits in place. A backward kernel is run
// after a forward kernel whose note it reads, of the same backend if there is one. Returns what is
// wrong with the first kernel that fails, or "". No kernel at all is not a failure; `compared`,
// where given, grows by one for each that was run.
std::string CompareWithRef(const OpSpec& op, Backend& backend, const Tolerance& tolerance,
                           Fill fill = Fill::kUniform, int* compared = nullptr);

}  // namespace weft::harness
