// SPDX-License-Identifier: Apache-2.0
// boards/*.toml are what the programs were built with, and say something about everything.
#include "apps/board/profiles.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "boards/profile_texts.h"
#include "core/model/zoo.h"
#include "tests/places.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_GROUP(BoardProfiles){};

TEST(BoardProfiles, TheProgramHasTheFilesOfTheFolderWordForWord) {
  std::set<std::string> in_program;
  for (const boards::ProfileText& text : boards::ProfileTexts()) {
    const std::string name(text.name);
    in_program.insert(name);
    CHECK_TRUE_TEXT(
        ReadAll(std::filesystem::path(tests::BoardsFolder()) / (name + ".toml")) == text.toml,
        name.c_str());
  }
  std::set<std::string> in_folder;
  for (const auto& entry : std::filesystem::directory_iterator(tests::BoardsFolder())) {
    if (entry.path().extension() == ".toml") in_folder.insert(entry.path().stem());
  }
  CHECK_TRUE(in_program == in_folder);
  CHECK_TRUE(in_program ==
             (std::set<std::string>{"rpi3", "rpi4", "rpi5", "jetson-nano", "jetson-orin", "xeon-e3",
                                    "generic-aarch64", "generic-x86_64"}));
}

TEST(BoardProfiles, EachHasABatchForEveryModelOfTheZooAndForNoOther) {
  for (const boards::Profile& profile : Profiles()) {
    for (const model::ZooEntry& entry : model::Zoo()) {
      CHECK_TRUE_TEXT(profile.batch.contains(std::string(entry.name)), profile.name.c_str());
    }
    LONGS_EQUAL_TEXT(model::Zoo().size(), profile.batch.size(), profile.name.c_str());
  }
}

TEST(BoardProfiles, EachNamesAPresetThatExistsAndLeavesTheSystemSomeMemory) {
  const std::string presets =
      ReadAll(std::filesystem::path(tests::BoardsFolder()) / ".." / "CMakePresets.json");
  for (const boards::Profile& profile : Profiles()) {
    CHECK_TRUE_TEXT(presets.find("\"name\": \"" + profile.preset + "\"") != std::string::npos,
                    profile.name.c_str());
    CHECK_TRUE_TEXT(profile.budget_percent <= boards::kMostBudgetPercent, profile.name.c_str());
    STRCMP_EQUAL_TEXT("ref", profile.backends.back().c_str(), profile.name.c_str());
  }
}

TEST(BoardProfiles, NoTwoClaimTheSameWords) {
  std::set<std::string> seen;
  for (const boards::Profile& profile : Profiles()) {
    for (const auto* words :
         {&profile.compatible, &profile.models, &profile.cpus, &profile.architectures}) {
      for (const std::string& word : *words)
        CHECK_TRUE_TEXT(seen.insert(word).second, word.c_str());
    }
  }
}

TEST(BoardProfiles, AMistakeIsNamed) {
  const std::string good(boards::ProfileTexts().front().toml);
  const auto complaint = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const Result<boards::Profile> profile = ParseProfile("mine", text);
    return profile.ok() ? "" : profile.status().message();
  };
  STRCMP_EQUAL("board mine: 'cores.use' is neither all nor one-per-core",
               complaint("use = \"all\"", "use = \"some\"").c_str());
  STRCMP_EQUAL("board mine: 'batch.lenet5' must be a whole number from 1 to 65536",
               complaint("lenet5 = 32", "lenet5 = 0").c_str());
  STRCMP_EQUAL("board mine: 'memory.budget_percent' must be a whole number from 1 to 80",
               complaint("budget_percent = 65", "budget_percent = 85").c_str());
  STRCMP_CONTAINS("in line", complaint("[batch]", "[batch").c_str());
}

}  // namespace weft::apps
