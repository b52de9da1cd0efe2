// SPDX-License-Identifier: Apache-2.0
// Whole jobs under seeded faults, held against a naive model of every round. WEFT_SEEDS and
// WEFT_FIRST_SEED make it run more, or others.
#include "tests/ps/simulation.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <CppUTest/TestHarness.h>  // last

namespace weft::ps {
namespace {

int64_t Number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

TEST_GROUP(Simulation){};

TEST(Simulation, InvariantsHoldUnderEverySeedsFaults) {
  const int64_t first = Number("WEFT_FIRST_SEED", 1);
  const int64_t count = Number("WEFT_SEEDS", WEFT_SEEDS);
  SimulationResult sum;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const SimulationResult result = Simulate(static_cast<uint64_t>(seed));
    if (!result.violation.empty()) {
      FAIL(("seed " + std::to_string(seed) + ": " + result.violation).c_str());
    }
    sum.delivered += result.delivered;
    sum.server_crashes += result.server_crashes;
    sum.worker_crashes += result.worker_crashes;
    sum.rounds_recorded += result.rounds_recorded;
  }
  std::printf("%lld seeds, %lld messages, %lld slices, %lld server and %lld worker crashes\n",
              static_cast<long long>(count), static_cast<long long>(sum.delivered),
              static_cast<long long>(sum.rounds_recorded),
              static_cast<long long>(sum.server_crashes),
              static_cast<long long>(sum.worker_crashes));
  // The faults were there.
  if (count >= 50) CHECK(sum.server_crashes > 0 && sum.worker_crashes > 0);
}

TEST(Simulation, TheSameSeedGivesTheSameEvents) {
  for (uint64_t seed : {3u, 14u, 159u}) {
    const SimulationResult once = Simulate(seed);
    const SimulationResult twice = Simulate(seed);
    CHECK(once.event_hash == twice.event_hash);
    CHECK_EQUAL(once.delivered, twice.delivered);
    CHECK(once.event_hash != Simulate(seed + 1000).event_hash);
  }
}

}  // namespace
}  // namespace weft::ps
