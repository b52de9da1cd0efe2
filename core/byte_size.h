// SPDX-License-Identifier: Apache-2.0
// Numbers of bytes as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace weft {

// "600MiB", "1.5GB", "2000000": bytes. InvalidInput says what would be right.
Result<size_t> ParseBytes(const std::string& text);
// The same of another machine's bytes, which may be more than this one can address.
Result<int64_t> ParseByteCount(const std::string& text);

}  // namespace weft
