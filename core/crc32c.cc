// SPDX-License-Identifier: Apache-2.0
#include "core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace weft {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // bits in reverse order

// kTables[k][b]: what byte b does to the checksum when k more bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint64_t Load64(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

#if defined(__SSE4_2__) && defined(__x86_64__)
#define WEFT_HAS_CRC 1
uint32_t Step64(uint32_t crc, uint64_t word) {
  return static_cast<uint32_t>(__builtin_ia32_crc32di(crc, word));
}
uint32_t Step8(uint32_t crc, std::byte b) {
  return __builtin_ia32_crc32qi(crc, std::to_integer<unsigned char>(b));
}
#elif defined(__ARM_FEATURE_CRC32) && defined(__aarch64__)
#define WEFT_HAS_CRC 1
uint32_t Step64(uint32_t crc, uint64_t word) { return __builtin_aarch64_crc32cx(crc, word); }
uint32_t Step8(uint32_t crc, std::byte b) {
  return __builtin_aarch64_crc32cb(crc, std::to_integer<unsigned char>(b));
}
#endif

#ifdef WEFT_HAS_CRC
// One instruction's result is there three cycles later, so three stretches run beside each other
// and are then joined. kStretch words each.
constexpr size_t kStretch = 128;

// What a stretch of zeros does to the checksum, by byte of it: joining is four look-ups.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr Shift MakeShift() {
  Shift shift{};
  for (size_t place = 0; place < 4; ++place) {
    for (uint32_t b = 0; b < 256; ++b) {
      uint32_t crc = b << (8 * place);
      for (size_t word = 0; word < kStretch; ++word) {  // of eight zeros
        crc = kTables[7][crc & 0xFF] ^ kTables[6][(crc >> 8) & 0xFF] ^
              kTables[5][(crc >> 16) & 0xFF] ^ kTables[4][crc >> 24];
      }
      shift[place][b] = crc;
    }
  }
  return shift;
}

constexpr Shift kShift = MakeShift();

uint32_t Shifted(uint32_t crc) {
  return kShift[0][crc & 0xFF] ^ kShift[1][(crc >> 8) & 0xFF] ^ kShift[2][(crc >> 16) & 0xFF] ^
         kShift[3][crc >> 24];
}
#endif

}  // namespace

uint32_t Crc32cByTable(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t crc = ~before;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  if constexpr (std::endian::native == std::endian::little) {
    for (; left >= 8; left -= 8, at += 8) {
      const uint64_t word = Load64(at) ^ crc;
      crc = 0;
      for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
    }
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<uint32_t>(*at)) & 0xFF];
  }
  return ~crc;
}

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before) {
#ifdef WEFT_HAS_CRC
  uint32_t crc = ~before;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kStretch * 8; left -= 3 * kStretch * 8, at += 3 * kStretch * 8) {
    uint32_t second = 0;
    uint32_t third = 0;
    for (size_t i = 0; i < kStretch; ++i) {
      crc = Step64(crc, Load64(at + 8 * i));
      second = Step64(second, Load64(at + 8 * (kStretch + i)));
      third = Step64(third, Load64(at + 8 * (2 * kStretch + i)));
    }
    crc = Shifted(Shifted(crc) ^ second) ^ third;
  }
  for (; left >= 8; left -= 8, at += 8) crc = Step64(crc, Load64(at));
  for (; left > 0; --left, ++at) crc = Step8(crc, *at);
  return ~crc;
#else
  return Crc32cByTable(bytes, before);
#endif
}

}  // namespace weft
