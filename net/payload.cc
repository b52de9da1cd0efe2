// SPDX-License-Identifier: Apache-2.0
#include "net/payload.h"

#include <cstring>
#include <new>

namespace weft::net {

Payload Payload::CopyOf(std::span<const std::byte> bytes) {
  constexpr auto kAlign = std::align_val_t{kAlignment};
  void* memory = ::operator new(bytes.size() + 1, kAlign);
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  std::shared_ptr<const void> owner(
      memory, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlign); });
  return {std::move(owner), {static_cast<const std::byte*>(memory), bytes.size()}};
}

}  // namespace weft::net
