// SPDX-License-Identifier: Apache-2.0
#include "apps/terminal/text.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(Text){};

TEST(Text, TimesKeepThreeDigits) {
  STRCMP_EQUAL("0 ns", TimeText(0).c_str());
  STRCMP_EQUAL("812 ns", TimeText(812).c_str());
  STRCMP_EQUAL("1.00 us", TimeText(1000).c_str());
  STRCMP_EQUAL("14.2 us", TimeText(14'200).c_str());
  STRCMP_EQUAL("999 ms", TimeText(999'400'000).c_str());
  STRCMP_EQUAL("1.00 s", TimeText(999'600'000).c_str());
  STRCMP_EQUAL("117 s", TimeText(117'096'000'000).c_str());
}

TEST(Text, CountsAndBytesAreGrouped) {
  STRCMP_EQUAL("7", CountText(7).c_str());
  STRCMP_EQUAL("1,000", CountText(1000).c_str());
  STRCMP_EQUAL("11,689,512", CountText(11'689'512).c_str());
  STRCMP_EQUAL("44.7 MB", BytesText(44'695'848).c_str());
}

TEST(Text, TablesAlignTheirColumns) {
  Table table({"name", "n"});
  table.Add({"a", "10"});
  table.Add({"long", "7"});
  STRCMP_EQUAL("name   n\n--------\na     10\nlong   7\n", table.Text().c_str());
}

}  // namespace weft::apps
