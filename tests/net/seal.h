// SPDX-License-Identifier: Apache-2.0
// The checksum of a whole message, found and set as docs/protocol.md describes it, without the
// library: to forge messages that are whole and say something wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/crc32c.h"
#include "net/codec/codec.h"

namespace weft::net {

// Where the four bytes of `check` are; nullopt if the message has none or is too damaged to tell.
inline std::optional<size_t> FindCheck(std::span<const std::byte> bytes) {
  constexpr size_t kSlot = 4 + 2 * 10;  // in the vtable: ten fields before it, a union is two
  const auto read = [&]<typename T>(uint64_t at, T& value) {
    if (at + sizeof(T) > bytes.size()) return false;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return true;
  };
  uint32_t table = 0;
  int32_t to_vtable = 0;
  uint16_t vtable_bytes = 0;
  uint16_t field = 0;
  if (!read(0, table) || !read(table, to_vtable)) return std::nullopt;
  const int64_t vtable = static_cast<int64_t>(table) - to_vtable;
  if (vtable < 0 || !read(static_cast<uint64_t>(vtable), vtable_bytes) ||
      vtable_bytes < kSlot + 2 || !read(static_cast<uint64_t>(vtable) + kSlot, field) ||
      field == 0 || uint64_t{table} + field + 4 > bytes.size()) {
    return std::nullopt;
  }
  return static_cast<size_t>(table) + field;
}

// Makes the checksum fit what the bytes are now. False if there is none.
inline bool Seal(std::span<std::byte> bytes) {
  const std::optional<size_t> at = FindCheck(bytes);
  if (!at) return false;
  std::memset(bytes.data() + *at, 0, 4);
  const uint32_t check = Crc32cByTable(bytes);
  std::memcpy(bytes.data() + *at, &check, 4);
  return true;
}

// A message with a segment, and the last byte of its data another. It fits neither checksum.
inline std::vector<std::byte> WithDamagedData(const Payload& payload) {
  const auto decoded = Decode(payload.bytes());
  const auto& data = std::get<Segment>(std::get<Message>(decoded).body).data;
  std::vector<std::byte> bytes(payload.bytes().begin(), payload.bytes().end());
  bytes[static_cast<size_t>(&data.back() - payload.bytes().data())] ^= std::byte{1};
  return bytes;
}

}  // namespace weft::net
