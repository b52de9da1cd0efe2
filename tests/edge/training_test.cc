// SPDX-License-Identifier: Apache-2.0
// What weft-edge says while it trains, and what must not change a bit of the model it makes: where
// its flags come from, how often it was stopped.
#include <filesystem>

#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

std::vector<std::string> KeysOf(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::string TextOf(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

TEST_GROUP(EdgeTraining) { EdgeFolder folder; };

TEST(EdgeTraining, PrintsAnObjectForEachStepEvaluationAndEnd) {
  const EdgeAnswer answer = folder.Type(folder.Lenet({"--eval"}));
  LONGS_EQUAL(0, answer.exit_code);
  STRCMP_EQUAL("", answer.err.c_str());
  const std::vector<json> objects = answer.Objects();
  std::string kinds;
  for (const json& object : objects) kinds += object.begin().key()[0];
  // 8 steps of 8 are an epoch of 64; the keys are sorted.
  STRCMP_EQUAL("iiiiiiiieiiiieb", kinds.c_str());
  STRCMP_EQUAL("images_per_s loss step", TextOf(KeysOf(objects[0])).c_str());
  STRCMP_EQUAL("epoch eval_loss top1 top5", TextOf(KeysOf(objects[8])).c_str());
  STRCMP_EQUAL("batch board final model_hash peak_rss_bytes steps top1 top5",
               TextOf(KeysOf(objects.back())).c_str());
  for (int step = 1; step <= 8; ++step) {
    LONGS_EQUAL(step, objects[static_cast<size_t>(step) - 1]["step"].get<int>());
  }
  CHECK_TRUE(objects[0]["loss"].get<double>() > 1.5 && objects[0]["loss"].get<double>() < 4);
  CHECK_TRUE(objects[0]["images_per_s"].get<double>() > 0);
  LONGS_EQUAL(1, objects[8]["epoch"].get<int>());
  LONGS_EQUAL(2, objects[13]["epoch"].get<int>());
  const double top1 = objects[13]["top1"].get<double>();
  CHECK_TRUE(top1 >= 0 && top1 <= objects[13]["top5"].get<double>());
  CHECK_TRUE(objects[13]["top5"].get<double>() <= 1);
  DOUBLES_EQUAL(top1, objects.back()["top1"].get<double>(), 0);
  LONGS_EQUAL(12, objects.back()["steps"].get<int>());
  LONGS_EQUAL(64, answer.ModelHash().size());
  CHECK_TRUE(objects.back()["peak_rss_bytes"].get<int64_t>() > 1'000'000);
}

TEST(EdgeTraining, WithoutATestSetTop1IsNull) {
  const EdgeAnswer answer = folder.Type(folder.Lenet());
  CHECK_TRUE(answer.Objects().back()["top1"].is_null());
  STRCMP_EQUAL("batch board final model_hash peak_rss_bytes steps top1",
               TextOf(KeysOf(answer.Objects().back())).c_str());
}

TEST(EdgeTraining, LearnsWhatSyntheticImagesShow) {
  const EdgeAnswer answer = folder.Type(folder.Lenet({"--steps", "60", "--eval"}));
  CHECK_TRUE(answer.Objects().back()["top1"].get<double>() > 0.9);
}

TEST(EdgeTraining, TheSameSeedGivesTheSameModelAndAnotherAnother) {
  const std::string once = folder.Type(folder.Lenet()).ModelHash();
  STRCMP_EQUAL(once.c_str(), folder.Type(folder.Lenet()).ModelHash().c_str());
  CHECK_FALSE(once == folder.Type(folder.Lenet({"--seed", "2"})).ModelHash());
}

TEST(EdgeTraining, ExplainsWhoComputesWhatAndLeavesNoFile) {
  const EdgeAnswer answer = folder.Type(folder.Lenet(
      {"--explain", "--save", folder.Path("model"), "--checkpoint", folder.Path("kept")}));
  LONGS_EQUAL(0, answer.exit_code);
  STRCMP_EQUAL("", answer.err.c_str());
  for (const char* expected :
       {"layer", "kernel", "GFLOP/s", "conv1", "fc3", "forward", "backward weights",
        "forward and backward: ", " a step of 8", "memory: parameters "}) {
    STRCMP_CONTAINS(expected, answer.out.c_str());
  }
  CHECK_FALSE(std::filesystem::exists(folder.Path("model")));
  CHECK_FALSE(std::filesystem::exists(folder.Path("kept/trainer.0.checkpoint")));
}

TEST(EdgeTraining, PeopleGetTheEndInOneLineAndWhereTheModelIs) {
  std::vector<std::string> arguments = folder.Lenet({"--save", folder.Path("model")});
  std::erase(arguments, "--json");
  const EdgeAnswer answer = folder.Type(arguments);
  LONGS_EQUAL(0, answer.exit_code);
  STRCMP_CONTAINS("lenet5, memory: parameters ", answer.out.c_str());
  STRCMP_CONTAINS("12/12  epoch 2  loss ", answer.out.c_str());
  const std::string hash = folder.Type(folder.Lenet()).ModelHash();
  STRCMP_CONTAINS(("model " + hash.substr(0, 16) + "\n").c_str(), answer.out.c_str());
  STRCMP_CONTAINS(("saved to " + folder.Path("model") + "\n").c_str(), answer.out.c_str());
}

TEST(EdgeTraining, ResumesWhereItWasStoppedToTheSameModel) {
  const std::string whole = folder.Type(folder.Lenet()).ModelHash();
  const std::vector<std::string> kept =
      folder.Lenet({"--checkpoint", folder.Path("kept"), "--resume"});
  int next = 1;  // nothing is saved yet: the first starts anew
  for (const int lines : {3, 7}) {
    const EdgeAnswer answer = folder.Type(kept, lines);
    LONGS_EQUAL(0, answer.exit_code);
    LONGS_EQUAL(next, answer.Objects().front()["step"].get<int>());
    next += lines;
  }
  const EdgeAnswer last = folder.Type(kept);
  LONGS_EQUAL(11, last.Objects().front()["step"].get<int>());
  STRCMP_EQUAL(whole.c_str(), last.ModelHash().c_str());
  // There is nothing left to do, and the model is still the same.
  const EdgeAnswer over = folder.Type(kept);
  LONGS_EQUAL(1, over.Objects().size());
  STRCMP_EQUAL(whole.c_str(), over.ModelHash().c_str());
}

TEST(EdgeTraining, WithoutResumeACheckpointIsNotReadAndIsReplaced) {
  const std::vector<std::string> kept = folder.Lenet({"--checkpoint", folder.Path("kept")});
  folder.Type(kept, 5);
  LONGS_EQUAL(1, folder.Type(kept).Objects().front()["step"].get<int>());
  std::vector<std::string> resumed = kept;
  resumed.push_back("--resume");
  LONGS_EQUAL(1, folder.Type(resumed).Objects().size());  // all twelve steps are done
}

TEST(EdgeTraining, GoesBackToTheCheckpointBeforeADamagedOne) {
  const std::string whole = folder.Type(folder.Lenet()).ModelHash();
  const std::vector<std::string> kept =
      folder.Lenet({"--checkpoint", folder.Path("kept"), "--checkpoint-every", "4", "--resume"});
  LONGS_EQUAL(0, folder.Type(kept, 9).exit_code);  // saves 4, 8, and 9 over 4
  const std::string newest = folder.Path("kept/trainer.0.checkpoint");
  const std::string bytes = ReadAll(newest);
  WriteAll(newest, bytes.substr(0, bytes.size() - 1));
  const EdgeAnswer answer = folder.Type(kept);
  LONGS_EQUAL(9, answer.Objects().front()["step"].get<int>());
  STRCMP_EQUAL(whole.c_str(), answer.ModelHash().c_str());
}

TEST(EdgeTraining, StartsFromSavedWeightsAsTheyWere) {
  const std::string saved = folder.Path("model.safetensors");
  const std::string hash = folder.Type(folder.Lenet({"--save", saved})).ModelHash();
  // The smallest step there is: the weights move by less than their last bit.
  const EdgeAnswer again = folder.Type(folder.Lenet(
      {"--steps", "1", "--init", saved, "--seed", "9", "--lr", "1e-30", "--momentum", "0"}));
  STRCMP_EQUAL(hash.c_str(), again.ModelHash().c_str());
}

TEST(EdgeTraining, AConfigFileStandsForFlagsAndWhatIsTypedWins) {
  const std::string config = folder.Path("train.toml");
  WriteAll(config,
           "model = \"lenet5\"\ndata = \"synthetic:1x28x28:10:64\"\nbatch = 8\nsteps = 12\n"
           "threads = 1\njson = true\nlr = 0.03\nnesterov = true\nlocal = true\neval = false\n");
  const EdgeAnswer typed = folder.Type(folder.Lenet({"--lr", "0.03", "--nesterov"}));
  const EdgeAnswer configured = folder.Type({"train", "--config", config});
  LONGS_EQUAL(0, configured.exit_code);
  STRCMP_EQUAL(typed.ModelHash().c_str(), configured.ModelHash().c_str());
  const EdgeAnswer mixed = folder.Type({"train", "--config=" + config, "--lr", "0.05"});
  STRCMP_EQUAL(folder.Type(folder.Lenet({"--nesterov"})).ModelHash().c_str(),
               mixed.ModelHash().c_str());
}

}  // namespace weft::apps
