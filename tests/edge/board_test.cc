// SPDX-License-Identifier: Apache-2.0
// `weft-edge board`, and what `weft-edge train` takes from a board's profile.
#include "tests/boards/fake_machine.h"
#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(EdgeBoard) {
  EdgeFolder folder;
  boards::FakeMachine machine;

  void MakePi() const {
    machine.DeviceTree("Raspberry Pi 4 Model B Rev 1.4", "raspberrypi,4-model-b|brcm,bcm2711");
    machine.Cpus("0-3", "0-3");
    machine.Memory(948'000);
  }
};

TEST(EdgeBoard, TellsWhatItFoundWhatItWillUseAndWhatFits) {
  MakePi();
  const EdgeAnswer answer = EdgeFolder::Type({"board", "--root", machine.root(), "--json"});
  LONGS_EQUAL(0, answer.exit_code);
  const nlohmann::json board = answer.Objects().at(0);
  STRCMP_EQUAL("rpi4", board["board"].get<std::string>().c_str());
  STRCMP_EQUAL("aarch64", board["preset"].get<std::string>().c_str());
  LONGS_EQUAL(4, board["use"]["threads"].get<int>());
  LONGS_EQUAL(int64_t{1024} * 948'000 / 100 * 70, board["use"]["memory_budget_bytes"]);
  for (const nlohmann::json& model : board["models"]) {
    const std::string name = model["name"];
    if (name == "lenet5") LONGS_EQUAL(64, model["batch"].get<int>());
    if (name == "vgg19") CHECK_TRUE(model["batch"].is_null());  // 575 MB of parameters, three times
    if (!model["batch"].is_null()) {
      CHECK_TRUE_TEXT(model["memory_bytes"] <= board["use"]["memory_budget_bytes"], name.c_str());
    }
  }
  LONGS_EQUAL(14, board["models"].size());
}

TEST(EdgeBoard, UsesTheSameInTheServiceAsByHand) {
  machine.DeviceTree("Raspberry Pi 3 Model B Plus Rev 1.3", "raspberrypi,3-model-b-plus");
  machine.Cpus("0-3", "0-3");
  machine.Memory(512 << 10);
  machine.Write("proc/self/cgroup", "0::/system.slice/weft-edge.service\n");
  const auto use = [&] {
    const EdgeAnswer answer =
        EdgeFolder::Type({"board", "--root", machine.root(), "--model", "lenet5", "--json"});
    return answer.Objects().at(0)["use"].dump();
  };
  const std::string by_hand = use();
  STRCMP_CONTAINS("\"memory_budget_bytes\":348966", by_hand.c_str());  // 332 MiB
  machine.Write("sys/fs/cgroup/system.slice/weft-edge.service/memory.max", "456339456\n");
  STRCMP_EQUAL(by_hand.c_str(), use().c_str());
}

TEST(EdgeBoard, TellsPeopleTheSame) {
  MakePi();
  const EdgeAnswer answer =
      EdgeFolder::Type({"board", "--root", machine.root(), "--model", "lenet5"});
  LONGS_EQUAL(0, answer.exit_code);
  for (const char* part : {"rpi4: Raspberry Pi 4", "device tree: raspberrypi,4-model-b",
                           "0-3, a thread on each", "648 MiB, 70 % of 925 MiB", "lenet5"}) {
    STRCMP_CONTAINS(part, answer.out.c_str());
  }
}

TEST(EdgeBoard, MeasuresWhatThereIsTimeFor) {
  const EdgeAnswer answer = EdgeFolder::Type(
      {"board", "--model", "lenet5", "--measure", "--measure-seconds", "30", "--json"});
  LONGS_EQUAL(0, answer.exit_code);
  CHECK_TRUE(answer.Objects().at(0)["models"][0]["images_per_s"] > 0.0);
}

TEST(EdgeBoard, UnknownNamesAreAnsweredWithTheKnownOnes) {
  for (const EdgeAnswer& answer :
       {EdgeFolder::Type({"board", "--board", "pi"}), EdgeFolder::Type({"board", "--model", "pi"}),
        EdgeFolder::Type(EdgeFolder::Lenet({"--board", "pi"}))}) {
    LONGS_EQUAL(2, answer.exit_code);
    CHECK_TRUE(answer.OneLineOnErr());
    STRCMP_CONTAINS("'pi'", answer.err.c_str());
  }
}

TEST(EdgeBoard, WhatIsNotTypedComesFromTheBoardAndIsSaidInOneLine) {
  const EdgeAnswer answer =
      EdgeFolder::Type({"train", "--local", "--model", "lenet5", "--data",
                        "synthetic:1x28x28:10:64", "--steps", "1", "--board", "rpi3"});
  LONGS_EQUAL(0, answer.exit_code);
  STRCMP_CONTAINS("board rpi3: ", answer.out.c_str());
  STRCMP_CONTAINS("at most 665MiB", answer.out.c_str());
  STRCMP_CONTAINS("batches of 32\n", answer.out.c_str());
}

TEST(EdgeBoard, WhatIsTypedWins) {
  std::vector<std::string> arguments = EdgeFolder::Lenet(
      {"--board", "rpi3", "--backend", "ref", "--memory-budget", "2GiB", "--steps", "1"});
  EdgeAnswer answer = EdgeFolder::Type(arguments);
  LONGS_EQUAL(0, answer.exit_code);
  LONGS_EQUAL(8, answer.Objects().back()["batch"].get<int>());
  STRCMP_EQUAL("rpi3", answer.Objects().back()["board"].get<std::string>().c_str());
  std::erase(arguments, "--json");
  answer = EdgeFolder::Type(arguments);
  CHECK_TRUE(answer.out.find("board") == std::string::npos);
}

TEST(EdgeBoard, ABoardsBatchTrainsToTheSameBitsAsTheSameBatchTyped) {
  const std::vector<std::string> common = {"train",   "--local", "--json",
                                           "--model", "lenet5",  "--threads",
                                           "1",       "--data",  "synthetic:1x28x28:10:64",
                                           "--steps", "3"};
  std::vector<std::string> by_board = common;
  by_board.insert(by_board.end(), {"--board", "rpi3"});
  std::vector<std::string> typed = common;
  typed.insert(typed.end(), {"--batch", "32", "--memory-budget", "2GiB"});
  const EdgeAnswer first = EdgeFolder::Type(by_board);
  LONGS_EQUAL(0, first.exit_code);
  STRCMP_EQUAL(EdgeFolder::Type(typed).ModelHash().c_str(), first.ModelHash().c_str());
}

}  // namespace weft::apps
