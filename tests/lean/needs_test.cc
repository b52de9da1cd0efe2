// SPDX-License-Identifier: Apache-2.0
// What weft-edge asks of the system it is started on.
#include "tests/edge/child_process.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(LeanNeeds){};

TEST(LeanNeeds, EveryLibraryThatTheProgramAsksForItUses) {
  ChildProcess ldd({"ldd", "-u", EdgeCommand({}).front()});
  std::string unused;
  while (const std::optional<std::string> line = ldd.NextLine()) unused += *line + "\n";
  STRCMP_EQUAL("", unused.c_str());
  LONGS_EQUAL(0, ldd.Wait());
}

}  // namespace weft::apps
