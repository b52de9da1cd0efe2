// SPDX-License-Identifier: Apache-2.0
// Memory for a kernel to work on: aligned, poisoned, and between two guards that tell when somebody
// wrote past its ends.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace weft::harness {

class Guarded {
 public:
  // Every bit set: a NaN as float and as double, -1 as an integer.
  static constexpr std::byte kPoison{0xFF};

  // Starts `skew` bytes after a 64-byte boundary.
  explicit Guarded(size_t bytes, size_t skew = 0) : bytes_(bytes) {
    memory_.assign(bytes + 2 * kGuardBytes + kAlignment, kGuard);
    const auto address = reinterpret_cast<uintptr_t>(memory_.data() + kGuardBytes);
    start_ = kGuardBytes + (kAlignment - address % kAlignment) % kAlignment + skew % kAlignment;
    Fill(kPoison);
  }

  Guarded(Guarded&&) = default;  // a copy would not be aligned
  Guarded& operator=(Guarded&&) = default;

  void Fill(std::byte value) { std::fill_n(data(), bytes_, value); }

  size_t size() const { return bytes_; }
  std::byte* data() { return memory_.data() + start_; }
  float* floats() { return reinterpret_cast<float*>(data()); }
  std::span<const float> values() const {
    return {reinterpret_cast<const float*>(memory_.data() + start_), bytes_ / sizeof(float)};
  }

  bool Holds(std::span<const float> bits) const {
    return bits.size_bytes() == bytes_ &&
           (bytes_ == 0 || std::memcmp(values().data(), bits.data(), bytes_) == 0);
  }

  bool intact() const {
    const auto is_guard = [](std::byte b) { return b == kGuard; };
    const auto start = memory_.begin() + static_cast<std::ptrdiff_t>(start_);
    return std::all_of(memory_.begin(), start, is_guard) &&
           std::all_of(start + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), is_guard);
  }

  // The place of the first value that is still poison, or -1.
  int64_t FirstPoisoned() const {
    const auto is_poison = [](float v) { return std::bit_cast<uint32_t>(v) == 0xFFFFFFFFu; };
    const std::span<const float> all = values();
    const auto found = std::find_if(all.begin(), all.end(), is_poison);
    return found == all.end() ? -1 : found - all.begin();
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kGuardBytes = 256;
  static constexpr std::byte kGuard{0xA5};

  std::vector<std::byte> memory_;
  size_t start_ = 0;
  size_t bytes_ = 0;
};

}  // namespace weft::harness
