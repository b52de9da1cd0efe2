// SPDX-License-Identifier: Apache-2.0
// How well a model did on the test set, for a person or a program.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/train/metrics.h"

namespace weft::apps {

// After so many epochs.
void ShowScore(std::ostream& out, bool json, int64_t epoch, const train::Score& score);

}  // namespace weft::apps
