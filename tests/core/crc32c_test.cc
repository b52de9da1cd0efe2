// SPDX-License-Identifier: Apache-2.0
#include "core/crc32c.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft {
namespace {

using Bytes = std::vector<std::byte>;

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Bytes Draw(size_t count, uint64_t seed) {
  Rng rng(seed);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.Next());
  return bytes;
}

// The definition: one bit after the other, nothing shared with the code under test.
uint32_t BitByBit(std::span<const std::byte> bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78 : crc >> 1;
  }
  return ~crc;
}

void CheckBoth(uint32_t expected, std::span<const std::byte> bytes) {
  CHECK_EQUAL(expected, Crc32c(bytes));
  CHECK_EQUAL(expected, Crc32cByTable(bytes));
}

}  // namespace

TEST_GROUP(Crc32c){};

// The check value of the catalogues of CRCs, then the examples of RFC 3720, appendix B.4.
TEST(Crc32c, HasThePublishedValues) {
  CheckBoth(0xE3069283, BytesOf("123456789"));
  CheckBoth(0x8A9136AA, Bytes(32, std::byte{0}));
  CheckBoth(0x62A8AB43, Bytes(32, std::byte{0xFF}));
  Bytes rising(32);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<std::byte>(i);
  CheckBoth(0x46DD794E, rising);
  CheckBoth(0x113FDB5C, Bytes(rising.rbegin(), rising.rend()));
  CheckBoth(0, {});
}

TEST(Crc32c, IsTheDefinitionBitByBit) {
  const Bytes bytes = Draw(7000, 1);
  for (const size_t length : {1u, 7u, 8u, 9u, 63u, 1000u, 3071u, 3072u, 3073u, 6144u, 7000u}) {
    const auto some = std::span<const std::byte>(bytes).first(length);
    CheckBoth(BitByBit(some), some);
  }
}

// Three stretches of 1024 bytes beside each other, then words, then bytes: all borders are below.
TEST(Crc32c, BothWaysAgreeAtEveryLengthAndEveryStart) {
  const Bytes bytes = Draw(10'100, 2);
  for (size_t start = 0; start < 9; ++start) {
    for (size_t length = 0; length <= 10'000; length += start < 2 ? 1 : 7) {
      const auto some = std::span<const std::byte>(bytes).subspan(start, length);
      if (Crc32c(some) != Crc32cByTable(some)) {
        FAIL(("start " + std::to_string(start) + " length " + std::to_string(length)).c_str());
      }
    }
  }
}

TEST(Crc32c, GoesOnWhereTheOneBeforeEnded) {
  const Bytes bytes = Draw(4000, 3);
  const std::span<const std::byte> all(bytes);
  const uint32_t whole = Crc32cByTable(all);
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    CHECK_EQUAL(whole, Crc32c(all.subspan(cut), Crc32c(all.first(cut))));
  }
  CHECK_EQUAL(whole, Crc32cByTable(all.subspan(17), Crc32cByTable(all.first(17))));
}

TEST(Crc32c, NoticesEveryChangedByte) {
  Bytes bytes = Draw(300, 4);
  const uint32_t before = Crc32c(bytes);
  for (std::byte& b : bytes) {
    for (int change = 1; change < 256; ++change) {
      b ^= static_cast<std::byte>(change);
      CHECK(Crc32c(bytes) != before);
      b ^= static_cast<std::byte>(change);
    }
  }
}

}  // namespace weft
