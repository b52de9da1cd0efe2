// SPDX-License-Identifier: Apache-2.0
// What a device brings to a job: its configuration, a server to work for, the model, the data, the
// memory; and a board that runs slower than it could.
#include <filesystem>

#include "apps/doctor/board_checks.h"
#include "apps/doctor/examination.h"
#include "apps/doctor/own_files.h"
#include "tests/doctor/answering_server.h"
#include "tests/doctor/doctor_house.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(DoctorDevice) {
  DoctorHouse house;

  Diagnosis AskFor(const net::Welcome& job, const std::vector<std::string>& more = {}) {
    const auto broker = house.Start({});
    const AnsweringServer server(house.As("ps", broker->port()), job);
    return house.AskEdge(house.Edge(broker->port(), more));
  }
};

TEST(DoctorDevice, WithoutAServerThatIsTheOnlyThingWrong) {
  const auto broker = house.Start({});
  const Diagnosis said = house.AskEdge(house.Edge(broker->port()));
  STRCMP_EQUAL("server", said.Failed().c_str());
  STRCMP_CONTAINS("no server of job 'digits' is there: nobody listens on weft/digits/w1/ctl",
                  said.Detail("server").c_str());
  STRCMP_CONTAINS("weft-ps serve --job digits", said.Fix("server").c_str());
  STRCMP_EQUAL("because 'server' fails", said.Detail("model").c_str());
  STRCMP_EQUAL("ok", said.State("data").c_str());
}

TEST(DoctorDevice, AModelThatThisBuildMakesOtherwise) {
  net::Welcome job = AnsweringServer::Lenet();
  job.model_hash[0] ^= std::byte{1};
  const Diagnosis said = AskFor(job);
  STRCMP_EQUAL("model", said.Failed().c_str());
  STRCMP_CONTAINS("the server's lenet5 is ", said.Detail("model").c_str());
  STRCMP_CONTAINS("install the same version", said.Fix("model").c_str());
  STRCMP_EQUAL("not checked", said.State("memory").c_str());
}

TEST(DoctorDevice, AModelThatThisBuildDoesNotKnow) {
  net::Welcome job = AnsweringServer::Lenet();
  job.model = "lenet6";
  STRCMP_CONTAINS("lenet6", AskFor(job).Detail("model").c_str());
}

TEST(DoctorDevice, TooLittleMemoryIsToldBeforeTheFirstStep) {
  const Diagnosis said = AskFor(AnsweringServer::Lenet(), {"--memory-budget", "1MiB"});
  STRCMP_EQUAL("memory", said.Failed().c_str());
  STRCMP_CONTAINS("a memory budget of 1MiB is below", said.Detail("memory").c_str());
  STRCMP_CONTAINS("give more", said.Fix("memory").c_str());
}

TEST(DoctorDevice, DataThatAreNotThereAndDataThatDoNotFit) {
  const Diagnosis none =
      AskFor(AnsweringServer::Lenet(), {"--data", "mnist:" + house.Path("nowhere")});
  STRCMP_EQUAL("data", none.Failed().c_str());
  STRCMP_CONTAINS("nowhere", none.Detail("data").c_str());
  const Diagnosis other = AskFor(AnsweringServer::Lenet(), {"--data", "synthetic:3x32x32:10:64"});
  STRCMP_EQUAL("data", other.Failed().c_str());
  STRCMP_CONTAINS("1 channels, and synthetic:3x32x32:10:64 has 10 and 3",
                  other.Detail("data").c_str());
}

TEST(DoctorDevice, AFileThatCannotBeReadOrIsNotCompleteIsAFinding) {
  Diagnosis said = house.AskEdge({"doctor", "--config", "/nowhere/edge.toml"});
  CHECK_EQUAL(1, said.exit_code);
  STRCMP_EQUAL("configuration", said.Failed().c_str());
  STRCMP_CONTAINS("/nowhere/edge.toml", said.Detail("configuration").c_str());
  WriteAll(house.Path("edge.toml"), "job = \"digits\"\nbroker = \"127.0.0.1:1\"\n");
  said = house.AskEdge({"doctor", "--config", house.Path("edge.toml")});
  CHECK_EQUAL(1, said.exit_code);
  STRCMP_CONTAINS("edge.toml: --worker not given", said.Detail("configuration").c_str());
}

TEST(DoctorDevice, WhatCannotBeUnderstoodAtAllIsAMistakeInWhatWasTyped) {
  const Diagnosis said = house.AskEdge({"doctor", "--timeout", "never"});
  CHECK_EQUAL(2, said.exit_code);
  STRCMP_CONTAINS("weft-edge: ", said.err.c_str());
}

TEST(DoctorDevice, ADeviceThatTrainsAloneNeedsNoBroker) {
  const Diagnosis said =
      house.AskEdge({"doctor", "--local", "--model", "lenet5", "--data", "synthetic:1x28x28:10:64",
                     "--backend", "ref", "--threads", "1", "--checkpoint", house.Path("kept")});
  STRCMP_EQUAL("", said.Failed().c_str());
  STRCMP_EQUAL("ok", said.State("memory").c_str());
  STRCMP_CONTAINS("kept", said.Detail("disk").c_str());
  STRCMP_EQUAL("no such check", said.State("port").c_str());
  CHECK_EQUAL(0, said.exit_code);
}

TEST(DoctorDevice, ADiskWithoutRoomAndAFolderThatIsAFile) {
  CHECK(CheckFolder(house.Path("new/deeper"), 1, "--state").state == CheckState::kOk);
  const Finding full = CheckFolder(house.Path("new"), int64_t{1} << 60, "--state");
  CHECK(full.state == CheckState::kFails);
  STRCMP_CONTAINS("are needed", full.detail.c_str());
  WriteAll(house.Path("file"), "");
  CHECK(CheckFolder(house.Path("file"), 1, "--state").state == CheckState::kFails);
}

TEST(DoctorDevice, AClockFromBeforeThisBuildIsNotSet) {
  const Finding finding = CheckClock({}, 1'000'000'000);
  CHECK(finding.state == CheckState::kFails);
  STRCMP_CONTAINS("the clock is not set: it says 2001-09-09 01:46 UTC", finding.detail.c_str());
}

TEST(DoctorDevice, ABoardThatIsHotHeldBackOrBadlyFedIsToldSo) {
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path file = house.Path("root") + path;
    std::filesystem::create_directories(file.parent_path());
    WriteAll(file.string(), text + "\n");
  };
  const std::string root = house.Path("root");
  CHECK_FALSE(CheckHeat(root).has_value());
  CHECK_FALSE(CheckGovernor(root).has_value());
  CHECK_FALSE(CheckThrottling(root).has_value());

  const std::string zone = "/sys/class/thermal/thermal_zone0/";
  write(zone + "type", "cpu-thermal");
  write(zone + "temp", "61234");
  STRCMP_EQUAL("61 °C at most (cpu-thermal)", CheckHeat(root)->detail.c_str());
  write(zone + "trip_point_0_type", "passive");
  write(zone + "trip_point_0_temp", "60000");
  CHECK(CheckHeat(root)->state == CheckState::kWarning);
  STRCMP_CONTAINS("slowed down from 60 °C on", CheckHeat(root)->detail.c_str());

  const std::string policy = "/sys/devices/system/cpu/cpufreq/policy0/";
  write(policy + "scaling_governor", "ondemand");
  CHECK(CheckGovernor(root)->state == CheckState::kOk);
  write(policy + "scaling_max_freq", "600000");
  write(policy + "cpuinfo_max_freq", "1500000");
  STRCMP_EQUAL("policy0 may run at 600 MHz of 1500", CheckGovernor(root)->detail.c_str());
  write(policy + "scaling_governor", "powersave");
  STRCMP_CONTAINS("performance", CheckGovernor(root)->fix.c_str());

  write("/proc/device-tree/compatible", std::string("raspberrypi,4-model-b\0brcm,bcm2711\0", 36));
  CHECK(CheckThrottling(root)->state == CheckState::kNotChecked);
  STRCMP_CONTAINS("only Raspberry Pi's own", CheckThrottling(root)->detail.c_str());
  const std::string firmware = "/sys/devices/platform/soc/soc:firmware/get_throttled";
  write(firmware, "0");
  CHECK(CheckThrottling(root)->state == CheckState::kOk);
  write(firmware, "50005");
  STRCMP_CONTAINS("voltage is too low now", CheckThrottling(root)->detail.c_str());
  write(firmware, "40000");
  STRCMP_CONTAINS("has slowed", CheckThrottling(root)->detail.c_str());
}

TEST(DoctorDevice, MemoryIsWhatTheTightestGroupAllows) {
  const std::string root = house.Path("root");
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    WriteAll(root + path, text);
  };
  CHECK_FALSE(MemoryOfMachine(root).has_value());
  write("/proc/meminfo", "MemTotal:  4000000 kB\nMemFree: 1 kB\nMemAvailable:  3000000 kB\n");
  CHECK_EQUAL(int64_t{4'096'000'000}, MemoryOfMachine(root)->most);
  CHECK_EQUAL(int64_t{3'072'000'000}, MemoryOfMachine(root)->available);
  write("/proc/self/cgroup", "0::/system.slice/weft-edge.service\n");
  write("/sys/fs/cgroup/system.slice/memory.max", "1000000000\n");
  write("/sys/fs/cgroup/system.slice/weft-edge.service/memory.max", "max\n");
  CHECK_EQUAL(int64_t{1'000'000'000}, MemoryOfMachine(root)->most);
  CHECK_EQUAL(int64_t{1'000'000'000}, MemoryOfMachine(root)->available);
}

TEST(DoctorDevice, LongLinesAreBrokenAtWordsAndIndented) {
  STRCMP_EQUAL("one two\n   three", Wrapped("one two three", 11, 3).c_str());
  STRCMP_EQUAL("°°° °°°\n  four", Wrapped("°°° °°° four", 10, 2).c_str());
}

}  // namespace weft::apps
