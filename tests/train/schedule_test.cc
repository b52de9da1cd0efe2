// SPDX-License-Identifier: Apache-2.0
// Factors against torch.optim.lr_scheduler (golden/write_golden.py).
#include "core/train/schedule.h"

#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::train {
namespace {

constexpr int kSteps = 12;

struct ScheduleGolden {
  const char* text;
  double factors[kSteps];
};

const ScheduleGolden kScheduleGolden[] = {
#include "tests/train/golden/schedule.inc"
};

void CheckRefused(const char* text, const char* expected) {
  const Result<Schedule> schedule = ParseSchedule(text);
  CHECK_FALSE_TEXT(schedule.ok(), text);
  CHECK(schedule.status().code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS(expected, schedule.status().message().c_str());
  STRCMP_CONTAINS(text, schedule.status().message().c_str());
}

}  // namespace

TEST_GROUP(Schedule){};

TEST(Schedule, FollowsTorch) {
  for (const ScheduleGolden& golden : kScheduleGolden) {
    const Schedule schedule = ParseSchedule(golden.text).value();
    for (int step = 0; step < kSteps; ++step) {
      // The golden numbers have twelve digits.
      DOUBLES_EQUAL(golden.factors[step], schedule.FactorAt(step, kSteps), 1e-11);
    }
  }
}

TEST(Schedule, ACosineIsNearlyZeroAtTheLastStepAndZeroAfterIt) {
  const Schedule schedule = ParseSchedule("cosine+warmup:10").value();
  DOUBLES_EQUAL(0, schedule.FactorAt(999, 1000), 1e-5);
  CHECK(schedule.FactorAt(999, 1000) > 0);
  DOUBLES_EQUAL(0, schedule.FactorAt(1000, 1000), 0);
  DOUBLES_EQUAL(0, schedule.FactorAt(5000, 1000), 0);
}

TEST(Schedule, AWarmUpMayBeLongerThanTheJob) {
  const Schedule schedule = ParseSchedule("cosine+warmup:100").value();
  DOUBLES_EQUAL(0.5, schedule.FactorAt(49, 10), 0);
  DOUBLES_EQUAL(1, schedule.FactorAt(99, 10), 0);
  DOUBLES_EQUAL(1, schedule.FactorAt(100, 10), 0);
  DOUBLES_EQUAL(0, schedule.FactorAt(101, 10), 0);
}

TEST(Schedule, ADefaultOneIsConstant) {
  DOUBLES_EQUAL(1, Schedule().FactorAt(0, 1), 0);
  DOUBLES_EQUAL(1, Schedule().FactorAt(1'000'000, 1), 0);
}

TEST(Schedule, SaysWhatIsWrongWithAText) {
  for (const char* text : {"", "linear", "Cosine", "cosine:3", "constant ", "cosine,warmup:3"}) {
    CheckRefused(text, "write constant, step:<steps>:<factor> or cosine");
  }
  for (const char* text :
       {"step", "step:30", "step:30:", "step::0.1", "step:30:0.1:2", "step:3.5:1", "step: 30:0.1",
        "step:30:0.1x", "step:99999999999999999999:0.1"}) {
    CheckRefused(text, "write step:<steps>:<factor>, such as");
  }
  for (const char* text : {"step:0:0.1", "step:-3:0.1"}) CheckRefused(text, "1 or more");
  for (const char* text : {"step:3:0", "step:3:1.5", "step:3:-1", "step:3:nan", "step:3:inf"}) {
    CheckRefused(text, "above 0 and at most 1");
  }
  for (const char* text : {"cosine+", "cosine+warmup", "cosine+warmup:", "cosine+warmup:x",
                           "cosine+warmup:3+warmup:3", "cosine+step:3:0.1", "cosine+warmup:3:4"}) {
    CheckRefused(text, "only +warmup:<steps> may follow");
  }
  CheckRefused("cosine+warmup:-1", "fewer than 0");
}

}  // namespace weft::train
