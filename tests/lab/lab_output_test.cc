// SPDX-License-Identifier: Apache-2.0
// What a lab could not write in the end, it says in the beginning.
#include <cstdlib>
#include <filesystem>

#include "tests/apps/typed.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {

TEST_GROUP(LabOutput) {
  ScratchFolder folder;
  const std::string path = std::getenv("PATH");

  void teardown() override { setenv("PATH", path.c_str(), 1); }

  // Nothing was said, let alone run, before.
  static void Refuses(const std::string& flag, const std::string& value, const std::string& why) {
    const Typed typed = Type({"lab", "--model", "lenet5", "--mbps", "10", "--strategies", "lbl",
                              "--rounds", "6", "--name", "wto", flag, value});
    LONGS_EQUAL_TEXT(kExitFailure, typed.exit_code, typed.err.c_str());
    STRCMP_EQUAL(("weft: " + why + "\n").c_str(), typed.err.c_str());
    STRCMP_EQUAL("", typed.out.c_str());
  }
};

TEST(LabOutput, APictureThatCannotBeWritten) {
  Refuses("--plot", "/nowhere/run.svg",
          "cannot write '/nowhere/run.svg'; is the folder there and writable?");
}

TEST(LabOutput, APictureThatNobodyDraws) {
  setenv("PATH", folder.path().c_str(), 1);
  const std::string picture = folder.Path("run.svg");
  Refuses("--plot", picture, "gnuplot is not installed; apt-get install gnuplot-nox");
  CHECK_FALSE(std::filesystem::exists(picture));
  WriteAll(picture, "an earlier one");
  Refuses("--plot", picture, "gnuplot is not installed; apt-get install gnuplot-nox");
  STRCMP_EQUAL("an earlier one", ReadAll(picture).c_str());
}

TEST(LabOutput, TracesThatCannotBeWritten) {
  Refuses("--trace", "/proc",
          "cannot write '/proc/lbl-w1.json'; is the folder there and writable?");
  WriteAll(folder.Path("file"), "");
  Refuses("--trace", folder.Path("file"), "cannot make the folder '" + folder.Path("file") + "'");
}

}  // namespace weft::apps
