// SPDX-License-Identifier: Apache-2.0
// Where the checksum of a whole message is in its bytes.
#pragma once

#include <weft_generated.h>

#include <cstddef>
#include <optional>
#include <span>

namespace weft::net {

// nullopt if the message, whose structure is known to be good, has none.
inline std::optional<size_t> CheckPlace(std::span<const std::byte> verified) {
  const auto* table = flatbuffers::GetRoot<flatbuffers::Table>(verified.data());
  const uint8_t* at = table->GetAddressOf(wire::Message::VT_CHECK);
  if (at == nullptr) return std::nullopt;
  return static_cast<size_t>(reinterpret_cast<const std::byte*>(at) - verified.data());
}

}  // namespace weft::net
