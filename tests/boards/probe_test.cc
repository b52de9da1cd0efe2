// SPDX-License-Identifier: Apache-2.0
// What the probe makes of a machine's files, and what of the machine is then used.
#include "boards/probe.h"

#include "apps/board/board.h"
#include "apps/board/profiles.h"
#include "boards/cpu_list.h"
#include "tests/boards/fake_machine.h"

#include <CppUTest/TestHarness.h>

namespace weft::boards {

TEST_GROUP(BoardProbe) {
  FakeMachine machine;

  int64_t LimitIn(const std::string& groups) {
    machine.Write("proc/self/cgroup", groups);
    return Probe(machine.root()).memory_limit_bytes;
  }
};

TEST(BoardProbe, CpuListsAreReadAsLinuxWritesThem) {
  CHECK_TRUE(ParseCpuList("0-3,6\n") == (std::vector<int>{0, 1, 2, 3, 6}));
  CHECK_TRUE(ParseCpuList("").empty());
  CHECK_TRUE(ParseCpuList("nonsense,2,0-999999999").size() == 1);
  STRCMP_EQUAL("0-3,6,8-9", CpuListText({0, 1, 2, 3, 6, 8, 9}).c_str());
}

TEST(BoardProbe, OnlyProcessorsThatAreOnlineAndAllowedCount) {
  machine.Cpus("0-5", "2-3,5,7");
  CHECK_TRUE(Probe(machine.root()).cpus == (std::vector<int>{2, 3, 5}));
}

TEST(BoardProbe, ASiblingStandsInForACoreWhoseFirstThreadIsNotAllowed) {
  machine.Cpus("0-7", "1-5");
  machine.TwoThreadsPerCore(4);
  CHECK_TRUE(Probe(machine.root()).one_per_core == (std::vector<int>{1, 2, 3, 4}));
}

TEST(BoardProbe, TheTightestGroupUpToTheTopLimitsTheMemory) {
  // Version 2: the service has no limit of its own, the slice above it has.
  machine.Write("sys/fs/cgroup/system.slice/weft.service/memory.max", "max\n");
  machine.Write("sys/fs/cgroup/system.slice/memory.max", "900000000\n");
  LONGS_EQUAL(900'000'000, LimitIn("0::/system.slice/weft.service\n"));
  machine.Write("sys/fs/cgroup/system.slice/weft.service/memory.high", "700000000\n");
  LONGS_EQUAL(700'000'000, LimitIn("0::/system.slice/weft.service\n"));
  LONGS_EQUAL(0, LimitIn("0::/user.slice\n"));
}

TEST(BoardProbe, VersionOneAndTheMixtureLimitTheMemoryToo) {
  machine.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.Write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "536870912\n");
  const std::string groups = "5:cpu,cpuacct:/\n4:memory:/box/inner\n0::/\n";
  LONGS_EQUAL(536'870'912, LimitIn(groups));
  LONGS_EQUAL(0, LimitIn("4:memory:/\n0::/\n"));
  machine.Write("sys/fs/cgroup/unified/memory.max", "268435456\n");
  LONGS_EQUAL(268'435'456, LimitIn(groups));
}

TEST(BoardProbe, AContainerSeesItsOwnGroupAtTheTop) {
  machine.Write("sys/fs/cgroup/memory.max", "400000000\n");
  LONGS_EQUAL(400'000'000, LimitIn("0::/docker/0123456789abcdef\n"));
}

TEST(BoardProbe, TheBudgetIsTheProfilesShareOfWhatIsThere) {
  machine.DeviceTree("Raspberry Pi 4 Model B Rev 1.4", "raspberrypi,4-model-b|brcm,bcm2711");
  machine.Cpus("0-3", "0-3");
  machine.Memory(1'884'352);
  const auto budget = [&] { return apps::FindBoard("auto", machine.root())->share.budget_bytes; };
  const int64_t there = int64_t{1024} * 1'884'352;
  LONGS_EQUAL(there / 100 * 70, budget());
  machine.Write("sys/fs/cgroup/memory.max", "1000000000\n");
  machine.Write("proc/self/cgroup", "0::/\n");
  LONGS_EQUAL(700'000'000, budget());
}

TEST(BoardProbe, TheFenceOfTheServiceTakesNothingOffTheShareAndAContainerDoes) {
  machine.Write("proc/self/cgroup", "0::/system.slice/weft-edge.service\n");
  const std::string limit = "sys/fs/cgroup/system.slice/weft-edge.service/memory.max";
  for (const boards::Profile& profile : apps::Profiles()) {
    for (const int64_t kibibytes : {444'000, 948'000, 1'884'352, 16'000'000}) {
      machine.Memory(kibibytes);
      const int64_t there = 1024 * kibibytes;
      const auto budget = [&] {
        return apps::FindBoard(profile.name, machine.root())->share.budget_bytes;
      };
      machine.Write(limit, "max\n");
      const int64_t by_hand = budget();
      // As systemd 252 and the kernel write it: 85 % in whole pages.
      const int64_t fence = there / 4096 * 8500 / 10'000 * 4096;
      machine.Write(limit, std::to_string(fence) + "\n");
      LONGS_EQUAL_TEXT(by_hand, budget(), profile.name.c_str());
      CHECK_TRUE_TEXT(by_hand < fence / 100 * 95, profile.name.c_str());
      machine.Write(limit, std::to_string(there / 2) + "\n");
      CHECK_TRUE_TEXT(budget() <= there / 2 / 100 * profile.budget_percent, profile.name.c_str());
    }
  }
}

TEST(BoardProbe, ABoardOnABiggerMachineHasNoMoreMemoryThanItIsSoldWith) {
  machine.Memory(64 << 20);  // 64 GiB
  const Result<apps::Board> board = apps::FindBoard("rpi3", machine.root());
  CHECK_TRUE(board.ok());
  LONGS_EQUAL(int64_t{1} << 30, board->share.memory_bytes);
}

}  // namespace weft::boards
