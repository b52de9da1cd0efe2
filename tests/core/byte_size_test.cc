// SPDX-License-Identifier: Apache-2.0
#include "core/byte_size.h"

#include <CppUTest/TestHarness.h>

namespace weft {
namespace {

TEST_GROUP(ByteSize){};

TEST(ByteSize, IsReadAsPeopleWriteIt) {
  LONGLONGS_EQUAL(600 << 20, ParseBytes("600MiB").value());
  LONGLONGS_EQUAL(1'500'000'000, ParseBytes("1.5GB").value());
  LONGLONGS_EQUAL(2'000'000, ParseBytes("2000000").value());
  LONGLONGS_EQUAL(3000, ParseBytes("3kB").value());
  for (const char* text : {"", "MiB", "-1MiB", "0", "12 MiB", "12mib", "nan", "inf", "1e300"}) {
    CHECK_FALSE(ParseBytes(text).ok());
  }
}

}  // namespace
}  // namespace weft
