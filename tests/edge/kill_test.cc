// SPDX-License-Identifier: Apache-2.0
// weft-edge, the program itself, killed again and again with signal 9 and resumed each time: it
// must end with the very model of a run that nothing happened to. CMakeLists.txt says how often a
// build kills it: WEFT_KILLS.
#include <map>
#include <memory>

#include "tests/edge/child_process.h"
#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

constexpr int kKills = WEFT_KILLS;
constexpr int kSteps = 10 * kKills;  // it never gets that far before the last kill

}  // namespace

TEST_GROUP(EdgeKill) {
  EdgeFolder folder;
  std::unique_ptr<ChildProcess> child;  // goes with the test, whatever happens
};

TEST(EdgeKill, KilledAtAnyMomentItResumesToTheSameModel) {
  const std::vector<std::string> plain = folder.Lenet({"--steps", std::to_string(kSteps)});
  std::map<int, double> losses;  // by step, of the run in peace
  std::string hash;
  child = std::make_unique<ChildProcess>(EdgeCommand(plain));
  while (const std::optional<std::string> line = child->NextLine()) {
    const json object = json::parse(*line);
    if (object.contains("step")) losses[object["step"]] = object["loss"];
    if (object.contains("final")) hash = object["model_hash"];
  }
  LONGS_EQUAL(0, child->Wait());
  LONGS_EQUAL(kSteps, losses.size());
  LONGS_EQUAL(64, hash.size());

  std::vector<std::string> resuming = plain;
  resuming.insert(resuming.end(),
                  {"--checkpoint", folder.Path("kept"), "--checkpoint-every", "2", "--resume"});
  Rng rng(7);
  int step = 0;  // the last one printed
  const auto check_step = [&](const std::string& line) {
    const json object = json::parse(line);
    CHECK_TRUE(object.contains("step"));
    step = object["step"];
    DOUBLES_EQUAL(losses[step], object["loss"].get<double>(), 0);
  };
  for (int kill = 0; kill < kKills; ++kill) {
    child = std::make_unique<ChildProcess>(EdgeCommand(resuming));
    for (int64_t lines = rng.Between(1, 6); lines > 0; --lines) {
      const int before = step;
      const std::optional<std::string> line = child->NextLine();
      CHECK_TRUE(line.has_value());
      check_step(*line);
      // A step that is printed is saved, if its number is even, before the next one is.
      CHECK_TRUE(step <= before + 1 && step > (before - 1) / 2 * 2);
    }
    CHECK_TRUE(child->Kill());
    while (const std::optional<std::string> line = child->NextLine()) check_step(*line);
  }
  CHECK_TRUE(step > kKills);

  std::string resumed_hash;
  child = std::make_unique<ChildProcess>(EdgeCommand(resuming));
  while (const std::optional<std::string> line = child->NextLine()) {
    const json object = json::parse(*line);
    if (object.contains("step")) check_step(*line);
    if (object.contains("final")) resumed_hash = object["model_hash"];
  }
  LONGS_EQUAL(0, child->Wait());
  LONGS_EQUAL(kSteps, step);
  STRCMP_EQUAL(hash.c_str(), resumed_hash.c_str());
}

}  // namespace weft::apps
