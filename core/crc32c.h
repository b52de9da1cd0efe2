// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the checksum of iSCSI and of our messages and journals, by the processor's
// own instruction where the build may use one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// Of `bytes`, going on from the checksum `before` of what came before them.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// The same by a table, for machines without the instruction; the definition of the above.
uint32_t Crc32cByTable(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace weft
