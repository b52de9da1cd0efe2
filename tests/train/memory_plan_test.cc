// SPDX-License-Identifier: Apache-2.0
#include "core/train/memory_plan.h"

#include "core/rng.h"

#include <CppUTest/TestHarness.h>

namespace weft::train {

TEST_GROUP(MemoryPlan){};

TEST(MemoryPlan, BuffersThatNeverMeetShareTheirPlace) {
  const MemoryPlan plan = PlanMemory({{.bytes = 640, .first_step = 0, .last_step = 1},
                                      {.bytes = 640, .first_step = 2, .last_step = 3}});
  LONGS_EQUAL(640, plan.bytes);
  LONGS_EQUAL(plan.offsets[0], plan.offsets[1]);
}

TEST(MemoryPlan, NoTwoBuffersInUseAtOnceOverlap) {
  Rng rng(71);
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferUse> buffers;
    for (int64_t i = rng.Between(1, 40); i > 0; --i) {
      const int first = static_cast<int>(rng.Between(0, 30));
      buffers.push_back({.bytes = static_cast<size_t>(rng.Between(0, 5000)),
                         .first_step = first,
                         .last_step = first + static_cast<int>(rng.Between(0, 12))});
    }
    const MemoryPlan plan = PlanMemory(buffers);
    CHECK_TRUE(plan.bytes >= PeakUse(buffers));
    for (size_t a = 0; a < buffers.size(); ++a) {
      LONGS_EQUAL(0, plan.offsets[a] % 64);
      CHECK_TRUE(plan.offsets[a] + buffers[a].bytes <= plan.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool meet = buffers[a].first_step <= buffers[b].last_step &&
                          buffers[b].first_step <= buffers[a].last_step;
        if (!meet || buffers[a].bytes == 0 || buffers[b].bytes == 0) continue;
        CHECK_TRUE(plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                   plan.offsets[b] + buffers[b].bytes <= plan.offsets[a]);
      }
    }
  }
}

}  // namespace weft::train
