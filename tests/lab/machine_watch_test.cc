// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/machine_watch.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <future>
#include <thread>

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

// A second of two processors, half of it idle.
struct Second {
  MachineMoment from{.at_ns = kSecondNs, .ticks = {.all = 1000, .idle = 100, .niced = 10}};
  MachineMoment to{.at_ns = 2 * kSecondNs, .ticks = {.all = 1200, .idle = 200, .niced = 10}};
};

ThreadTime Ran(const std::string& program, int64_t ticks) {
  return {.program = program, .ticks = ticks};
}

}  // namespace

TEST_GROUP(MachineWatch) {
  Second second;

  MachineFacts Facts() const { return Between(second.from, second.to); }
};

TEST(MachineWatch, EachLimitOfTheMachineIsAReason) {
  const struct {
    MachineFacts facts;
    const char* reason;
  } cases[] = {
      {{.idle_share = 0.05}, ""},
      {{.idle_share = 0.049}, "the processors were idle for 4.9 % of the time only"},
      {{.busiest_share = 0.9, .busiest = "the broker"}, ""},
      {{.busiest_share = 0.97, .busiest = "the broker"},
       "a thread of the broker was busy for 97.0 % of the time"},
      {{.disk_share = 0.05}, ""},
      {{.disk_share = 0.07},
       "a server waited for its disk for 7.0 % of the time; let TMPDIR name a folder on a faster "
       "one"},
      {{.mean_late_ns = 1e6}, ""},
      {{.mean_late_ns = 1.5e6}, "the emulated link delivered 1.50 ms late on average"},
      {{.late_share = 0.02}, ""},
      {{.late_share = 0.03},
       "the emulated link delivered 3.0 % of the packets more than 1.00 ms late"},
      {{.unread_share = 0.001}, ""},
      {{.unread_share = 0.01}, "the emulated link missed 1.0 % of the packets"},
      {{.unread_share = {}}, "how many packets the emulated link missed is not known"},
      {{.replay_late_share = 0.02}, ""},
      {{.replay_late_share = 0.03},
       "a worker's replayed units took 3.0 % of the time longer than they were to"},
  };
  for (const auto& [facts, reason] : cases) STRCMP_EQUAL(reason, WhyInvalid(facts).c_str());
}

TEST(MachineWatch, OfTheLinkItIsWhatCameInBetween) {
  second.from.lateness = {.packets = 10, .late_ns = 50, .late = 5, .unread = 1};
  second.to.lateness = second.from.lateness;
  second.to.lateness.Add({.packets = 40, .unread = 2, .mean_late_ns = 1000, .late = 10});
  DOUBLES_EQUAL(1000, Facts().mean_late_ns, 1e-9);
  DOUBLES_EQUAL(0.25, Facts().late_share, 1e-12);
  DOUBLES_EQUAL(0.05, *Facts().unread_share, 1e-12);
  second.to.lateness.Add({.packets = 1, .unread = std::nullopt});
  second.to.lateness.Add({.packets = 1, .unread = 0});
  CHECK_FALSE(Facts().unread_share.has_value());
}

TEST(MachineWatch, OthersNicedWorkIsIdleAndTheLabsOwnIsNot) {
  DOUBLES_EQUAL(0.5, Facts().idle_share, 1e-12);
  second.to.ticks.niced += 90;
  DOUBLES_EQUAL(0.95, Facts().idle_share, 1e-12);
  // `nice weft lab`: 80 of them are a worker's, who had 20 before.
  second.from.threads[7] = {.program = "worker w1", .ticks = 30, .niced_ticks = 20};
  second.to.threads[7] = {.program = "worker w1", .ticks = 120, .niced_ticks = 100};
  DOUBLES_EQUAL(0.55, Facts().idle_share, 1e-12);
}

TEST(MachineWatch, OneThreadThatIsAlwaysBusyIsSeenAmongIdleProcessors) {
  const int64_t per_s = sysconf(_SC_CLK_TCK);
  second.from.threads = {{7, Ran("the broker", 500)}, {8, Ran("the server", 100)}};
  second.to.threads = {{7, Ran("the broker", 500 + per_s * 3 / 4)},
                       {8, Ran("the server", 100 + per_s / 4)},
                       {9, Ran("worker w1", per_s / 2)}};  // which was not there before
  DOUBLES_EQUAL(0.75, Facts().busiest_share, 0.02);
  STRCMP_EQUAL("the broker", Facts().busiest.c_str());
  second.to.threads[7].counts = false;
  DOUBLES_EQUAL(0.5, Facts().busiest_share, 0.02);
  STRCMP_EQUAL("worker w1", Facts().busiest.c_str());
}

TEST(MachineWatch, TheServerThatWaitedLongestForItsDiskCounts) {
  second.from.disk_wait_ns = {kSecondNs, 0};
  second.to.disk_wait_ns = {kSecondNs, kSecondNs / 4};
  DOUBLES_EQUAL(0.25, Facts().disk_share, 1e-12);
}

TEST(MachineWatch, ProcStatCountsWaitingForTheDiskAsIdleAndGuestsOnce) {
  const ProcessorTicks ticks = ParseProcStat("cpu  10 20 30 400 50 6 7 8 1000 2000\ncpu0 1 2 3\n");
  LONGLONGS_EQUAL(10 + 20 + 30 + 400 + 50 + 6 + 7 + 8, ticks.all);
  LONGLONGS_EQUAL(450, ticks.idle);
  LONGLONGS_EQUAL(20, ticks.niced);
  LONGLONGS_EQUAL(0, ParseProcStat("nothing").all);
  CHECK_TRUE(TicksNow().all > 0);
}

TEST(MachineWatch, AThreadsNameMayHaveAnythingInIt) {
  const std::optional<ThreadStat> stat = ParseThreadStat(
      "17 (a) b (c) S 1 17 17 0 -1 4194304 1 2 3 4 70 30 9 8 25 5 3 0 123 4096 12\n");
  STRCMP_EQUAL("a) b (c", stat->name.c_str());
  LONGLONGS_EQUAL(70, stat->user_ticks);
  LONGLONGS_EQUAL(30, stat->system_ticks);
  LONGS_EQUAL(5, stat->nice);
  for (const char* text : {"", "17 a S 1", "17 (a) S 1 2 3"}) {
    CHECK_FALSE(ParseThreadStat(text).has_value());
  }
}

TEST(MachineWatch, OfAProgramThatComputesOnlyThreadsWithNamesOfTheirOwnCount) {
  std::promise<pid_t> named;
  std::promise<void> enough;
  std::thread thread([&] {
    prctl(PR_SET_NAME, "of-its-own");
    named.set_value(gettid());
    enough.get_future().wait();
  });
  const pid_t tid = named.get_future().get();
  ThreadTimes computes;
  ReadThreadTimes({{"me", getpid(), true}}, computes);
  ThreadTimes serves;
  ReadThreadTimes({{"me", getpid()}, {"nobody", -1}}, serves);
  enough.set_value();
  thread.join();
  CHECK_FALSE(computes.at(getpid()).counts);
  CHECK_TRUE(computes.at(tid).counts);
  CHECK_TRUE(serves.at(getpid()).counts && serves.at(tid).counts);
  STRCMP_EQUAL("me", serves.at(tid).program.c_str());
  // One that has ended stays as it was.
  ReadThreadTimes({{"me", getpid()}}, serves);
  CHECK_TRUE(serves.contains(tid));
}

}  // namespace weft::apps
