// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tests/apps/typed.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

using nlohmann::json;

TEST_GROUP(AggregateBench){};

TEST(AggregateBench, SetsEveryOptimizerBesideACopy) {
  const json bench = json::parse(Type({"bench", "aggregate", "--floats", "3000000", "--workers",
                                       "2", "--threads", "2", "--json"})
                                     .out);
  LONGS_EQUAL(3'000'000, bench["floats"].get<int64_t>());
  LONGS_EQUAL(2, bench["workers"].get<int>());
  LONGS_EQUAL(2, bench["threads"].get<int>());
  LONGS_EQUAL(3, bench["optimizers"].size());
  const int64_t statistics = 2 * 4096;  // of two units that are whole
  int64_t state = 0;
  for (const json& row : bench["optimizers"]) {
    // Two workers, the mean and what comes next; of parameters what is there, and the state twice.
    const int64_t floats = 3'000'000 * 4 + (3'000'000 - statistics) * (1 + 2 * state++);
    LONGS_EQUAL(4 * floats, row["bytes"].get<int64_t>());
    CHECK_TRUE(row["ns"].get<int64_t>() > 0);
    for (const char* speed : {"gb_per_s", "copy_gb_per_s", "triad_gb_per_s"}) {
      CHECK_TRUE(row[speed].get<double>() > 0);
    }
  }
}

TEST(AggregateBench, WritesATableForPeople) {
  const Typed typed = Type({"bench", "aggregate", "--floats", "1000", "--threads", "1"});
  LONGS_EQUAL(kExitOk, typed.exit_code);
  STRCMP_CONTAINS("adamw", typed.out.c_str());
  STRCMP_CONTAINS("1,000 floats from each of 4 workers, 1 threads", typed.out.c_str());
}

TEST(AggregateBench, RefusesWhatMakesNoSense) {
  for (const char* flag : {"--floats", "--workers"}) {
    CHECK_TRUE(Type({"bench", "aggregate", flag, "0"}).exit_code != kExitOk);
  }
}

}  // namespace weft::apps
