// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/worker_budget.h"
#include "core/clock.h"

#include <string>

#include <CppUTest/TestHarness.h>

namespace weft::ps {
namespace {

using Verdict = WorkerBudget::Verdict;

}  // namespace

TEST_GROUP(WorkerBudget) {
  WorkerBudget budget{{.bytes = 1000, .messages = 10}};

  bool Reads(const char* worker, int64_t bytes, int64_t round, int64_t now_ns) {
    return budget.Take(worker, bytes, round, now_ns) == Verdict::kRead;
  }
};

TEST(WorkerBudget, ReadsSoManyBytesOfEachWorkerInARound) {
  CHECK_TRUE(Reads("a", 1000, 0, 0));
  CHECK_FALSE(Reads("a", 1, 0, 0));
  CHECK_TRUE(Reads("b", 1000, 0, 0));
  CHECK_TRUE(Reads("a", 1000, 1, 0));
}

TEST(WorkerBudget, ReadsSoManyMessages) {
  for (int i = 0; i < 10; ++i) CHECK_TRUE(Reads("a", 1, 0, 0));
  CHECK_FALSE(Reads("a", 1, 0, 0));
}

TEST(WorkerBudget, InARoundThatLastsReadsAgainAfterTenSeconds) {
  CHECK_FALSE(Reads("a", 1001, 0, 5 * kNsPerSecond));
  CHECK_FALSE(Reads("a", 1, 0, 15 * kNsPerSecond - 1));
  CHECK_TRUE(Reads("a", 1, 0, 15 * kNsPerSecond));
}

TEST(WorkerBudget, TellsPeopleOnceInTenSecondsHoweverManyRounds) {
  int told = 0;
  for (int round = 0; round < 100; ++round) {  // 25 seconds
    told += budget.Take("a", 2000, round, round * kNsPerSecond / 4) == Verdict::kTellTooMuch;
  }
  CHECK_EQUAL(3, told);
}

TEST(WorkerBudget, MoreNamesThanAnyJobHasShareOne) {
  for (int i = 0; i < 10'000; ++i) CHECK_TRUE(Reads(std::to_string(i).c_str(), 1000, 0, 0));
  CHECK_TRUE(Reads("one more", 1000, 0, 0));
  // It may be any of them, so none is shut out for it.
  CHECK(budget.Take("another", 1, 0, 0) == Verdict::kTooMuch);
  CHECK(budget.Take("one more", 1, 0, 0) == Verdict::kTooMuch);
  // Names that have gone make room for others.
  CHECK_TRUE(Reads("a third", 1000, 0, 10 * kNsPerSecond));
  CHECK(budget.Take("a third", 1, 0, 10 * kNsPerSecond) == Verdict::kTellTooMuch);
}

TEST(WorkerBudget, IsFourTimesWhatARoundNeedsAtLeast) {
  // vgg19 in messages of 128 KiB, cut as finely as a plan may.
  const int64_t model = 143'667'240 * 4;
  const WorkerBudget::Allowance allowance = WorkerBudget::For(model, 128 << 10, 19);
  CHECK_TRUE(allowance.bytes > 4 * model);
  CHECK_TRUE(allowance.messages > 4 * (4096 + 19 + model / (128 << 10)));
}

}  // namespace weft::ps
