// SPDX-License-Identifier: Apache-2.0
// What libFuzzer calls, and what targets share: a source of numbers and bytes out of the input,
// and a check that ends the process in every build.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace weft {

inline void MustHold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Takes the input apart from its front; when it is used up, everything is 0.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size)
      : left_(std::as_bytes(std::span<const uint8_t>(data, size))) {}

  bool empty() const { return left_.empty(); }
  std::span<const std::byte> Bytes(size_t count) {
    const auto taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  template <typename Number>
  Number Take() {
    static_assert(std::is_arithmetic_v<Number>);
    Number number{};
    const auto bytes = Bytes(sizeof(Number));
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }
  // Below `count`, which is up to 256.
  int Pick(int count) { return Take<uint8_t>() % count; }
  bool Coin() { return Pick(2) == 1; }

 private:
  std::span<const std::byte> left_;
};

}  // namespace weft
