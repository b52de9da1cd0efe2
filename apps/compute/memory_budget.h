// SPDX-License-Identifier: Apache-2.0
// From what a person allows the whole program to what is left for the activations.
#pragma once

#include <cstddef>
#include <string>

#include "core/status.h"

namespace weft::apps {

// What of `budget`, as ParseBytes reads it, is left when this process has taken what it holds now
// and the `coming` bytes that it will need besides. 0, which is no limit, for an empty text.
Result<size_t> BytesLeft(const std::string& budget, size_t coming);

}  // namespace weft::apps
