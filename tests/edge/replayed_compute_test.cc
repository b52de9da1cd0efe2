// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/replayed_compute.h"

#include "apps/profile/profile_file.h"
#include "core/model/zoo.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// Each look at it takes 10 ns. A unit is looked at when it begins, when it could sleep, and when it
// has ended, so it takes 20.
struct SlowClock final : Clock {
  int64_t NowNs() const override { return now += 10; }
  mutable int64_t now = 0;
};

}  // namespace

TEST_GROUP(ReplayedCompute) {
  ScratchFolder folder;
  SlowClock clock;

  // All of the five units' forwards and backwards are to take `unit_ns`.
  int64_t LateNs(int64_t unit_ns) const {
    const model::Graph graph = *model::BuildModel("lenet5");
    train::Parameters parameters(graph);
    const net::WireLayout layout = *WireLayoutOf(graph);
    sched::CostProfile profile;
    for (const net::WireUnit& unit : layout.units()) {
      profile.units.push_back({.name = unit.name, .forward_ns = unit_ns, .backward_ns = unit_ns});
    }
    CHECK(WriteProfileFile(folder.Path("p.json"), profile).ok());
    const auto compute =
        MakeReplayedCompute(folder.Path("p.json"), layout, parameters, 8, 0, clock);
    CHECK_TEXT(compute.ok(), compute.status().message().c_str());
    NullHooks hooks;
    for (int64_t round = 0; round < 2; ++round) CHECK((*compute)->Compute(round, hooks).ok());
    return (*compute)->late_ns().value_or(-1);
  }
};

TEST(ReplayedCompute, TellsHowMuchLongerTheUnitsOfAStepTookThanTheyWereTo) {
  LONGLONGS_EQUAL(2 * 5 * 20, LateNs(0));
  LONGLONGS_EQUAL(2 * 5 * 5, LateNs(15));
  LONGLONGS_EQUAL(0, LateNs(20));
  LONGLONGS_EQUAL(0, LateNs(1000));
}

}  // namespace weft::apps
