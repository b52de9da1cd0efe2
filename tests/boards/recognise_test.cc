// SPDX-License-Identifier: Apache-2.0
// Every board of boards/ is known by what its own kernel says of it.
#include "apps/board/board.h"
#include "tests/boards/fake_machine.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

Board Found(const boards::FakeMachine& machine) {
  Result<Board> board = FindBoard("auto", machine.root());
  CHECK_TRUE(board.ok());
  return std::move(board).value();
}

}  // namespace

TEST_GROUP(BoardRecognise) { boards::FakeMachine machine; };

TEST(BoardRecognise, EveryBoardIsKnownByItsDeviceTree) {
  const struct {
    const char* profile;
    const char* model;
    const char* compatible;
  } kBoards[] = {
      {"rpi3", "Raspberry Pi 3 Model B Rev 1.2", "raspberrypi,3-model-b|brcm,bcm2837"},
      {"rpi3", "Raspberry Pi 3 Model B Plus Rev 1.3", "raspberrypi,3-model-b-plus|brcm,bcm2837"},
      {"rpi3", "Raspberry Pi Zero 2 W Rev 1.0", "raspberrypi,model-zero-2-w|brcm,bcm2837"},
      {"rpi4", "Raspberry Pi 4 Model B Rev 1.4", "raspberrypi,4-model-b|brcm,bcm2711"},
      {"rpi4", "Raspberry Pi 400 Rev 1.0", "raspberrypi,400|brcm,bcm2711"},
      {"rpi5", "Raspberry Pi 5 Model B Rev 1.0", "raspberrypi,5-model-b|brcm,bcm2712"},
      {"rpi5", "Raspberry Pi Compute Module 5 Rev 1.0",
       "raspberrypi,5-compute-module|brcm,bcm2712"},
      {"jetson-nano", "NVIDIA Jetson Nano Developer Kit", "nvidia,p3450-0000|nvidia,tegra210"},
      {"jetson-nano", "NVIDIA Jetson Nano Developer Kit",
       "nvidia,p3449-0000-b00+p3448-0000-b00|nvidia,jetson-nano|nvidia,tegra210"},
      {"jetson-nano", "NVIDIA Jetson Nano 2GB Developer Kit",
       "nvidia,p3541-0000|nvidia,p3450-0000|nvidia,tegra210"},
      {"jetson-orin", "NVIDIA Jetson Orin Nano Developer Kit",
       "nvidia,p3768-0000+p3767-0005|nvidia,p3767-0005|nvidia,tegra234"},
      {"jetson-orin", "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
       "nvidia,p3768-0000+p3767-0005-super|nvidia,p3767-0005|nvidia,tegra234"},
      {"jetson-orin", "NVIDIA Jetson AGX Orin Developer Kit",
       "nvidia,p3737-0000+p3701-0000|nvidia,p3701-0000|nvidia,tegra234"},
  };
  for (const auto& board : kBoards) {
    machine.DeviceTree(board.model, board.compatible);
    const Board found = Found(machine);
    STRCMP_EQUAL_TEXT(board.profile, found.profile->name.c_str(), board.compatible);
    STRCMP_EQUAL(board.model, found.facts.model.c_str());
  }
}

TEST(BoardRecognise, ABoardThatIsNewKnowsItselfByItsChipOrItsModel) {
  machine.DeviceTree("Some carrier board", "vendor,carrier|brcm,bcm2711");
  STRCMP_EQUAL("rpi4", Found(machine).profile->name.c_str());
  STRCMP_EQUAL("device tree: brcm,bcm2711", Found(machine).recognised_by.c_str());
  machine.DeviceTree("Raspberry Pi 5 Model C Rev 2.0", "raspberrypi,5-model-c|brcm,bcm2799");
  STRCMP_EQUAL("rpi5", Found(machine).profile->name.c_str());
}

TEST(BoardRecognise, CpuinfoTellsTheModelWhereThereIsNoDeviceTree) {
  machine.Write("proc/cpuinfo",
                "processor\t: 0\nBogoMIPS\t: 108.00\nCPU part\t: 0xd08\n\n"
                "Hardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B Rev 1.1\n");
  STRCMP_EQUAL("rpi4", Found(machine).profile->name.c_str());
}

TEST(BoardRecognise, AXeonE3IsKnownByItsProcessorAndUsesEachCoreOnce) {
  machine.Write("proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 94\n"
                "model name\t: Intel(R) Xeon(R) CPU E3-1230 v5 @ 3.40GHz\n");
  machine.Cpus("0-7", "0-7");
  machine.TwoThreadsPerCore(4);
  machine.Memory(32'828'412);
  const Board board = Found(machine);
  STRCMP_EQUAL("xeon-e3", board.profile->name.c_str());
  CHECK_TRUE(board.share.cpus == (std::vector<int>{0, 1, 2, 3}));
  LONGS_EQUAL(8, board.facts.cpus.size());
}

TEST(BoardRecognise, AnyOtherMachineIsGeneric) {
  machine.Write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Gold 6130 CPU\n");
#if defined(__x86_64__)
  STRCMP_EQUAL("generic-x86_64", Found(machine).profile->name.c_str());
#else
  STRCMP_EQUAL("generic-aarch64", Found(machine).profile->name.c_str());
#endif
}

TEST(BoardRecognise, AMachineThatShowsNothingIsStillUsedWithOneThreadAndNoBudget) {
  const Board board = Found(machine);
  CHECK_TRUE(board.share.cpus == std::vector<int>{0});
  LONGS_EQUAL(0, board.share.budget_bytes);
  STRCMP_EQUAL("", board.BudgetText().c_str());
}

TEST(BoardRecognise, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  const Result<Board> board = FindBoard("rpi6", machine.root());
  CHECK_FALSE(board.ok());
  STRCMP_CONTAINS("no board is called 'rpi6'", board.status().message().c_str());
  STRCMP_CONTAINS("rpi5", board.status().message().c_str());
}

}  // namespace weft::apps
