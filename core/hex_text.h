// SPDX-License-Identifier: Apache-2.0
// Bytes as people compare them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace weft {

std::string HexText(std::span<const std::byte> bytes);  // two lower-case digits each

}  // namespace weft
