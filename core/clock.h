// SPDX-License-Identifier: Apache-2.0
// The seam for time: code that measures or waits takes a Clock, so that a test can drive it.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;

// Nanoseconds from an arbitrary origin that never go back. Thread: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowNs() const = 0;
};

class SteadyClock final : public Clock {
 public:
  int64_t NowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace weft
