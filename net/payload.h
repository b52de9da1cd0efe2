// SPDX-License-Identifier: Apache-2.0
// Bytes on their way: shared by whoever still needs them, never changed, aligned for tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace weft::net {

class Payload {
 public:
  static constexpr size_t kAlignment = 64;

  Payload() = default;
  // `bytes` lie in something that `owner` keeps alive.
  Payload(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  // A copy of its own, aligned.
  static Payload CopyOf(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

}  // namespace weft::net
