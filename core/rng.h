// SPDX-License-Identifier: Apache-2.0
// A seeded stream of random numbers that is the same on every machine and compiler, which the
// distributions of <random> are not. SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one word
// of state, so a stream can be made for any (seed, stream) pair at no cost.
#pragma once

#include <cassert>
#include <cstdint>

namespace weft {

class Rng {
 public:
  explicit Rng(uint64_t seed, uint64_t stream = 0) : state_(Mix(seed) ^ Mix(~stream)) {}

  uint64_t Next() { return Mix(state_ += 0x9E3779B97F4A7C15u); }

  // Uniform in [low, high], both included; without modulo bias.
  int64_t Between(int64_t low, int64_t high) {
    assert(low <= high);
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    if (span == 0) return static_cast<int64_t>(Next());  // the whole range of int64
    const uint64_t limit = UINT64_MAX - UINT64_MAX % span;
    uint64_t draw = Next();
    while (draw >= limit) draw = Next();
    return static_cast<int64_t>(static_cast<uint64_t>(low) + draw % span);
  }

  // Uniform in [0, 1).
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace weft
