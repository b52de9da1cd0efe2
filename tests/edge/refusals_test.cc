// SPDX-License-Identifier: Apache-2.0
// What weft-edge does with input it cannot use: one line on stderr that says why, exit code 2 for a
// mistake and 1 for a disk, and no file harmed.
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>

#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

// While it lives no file of this process may grow beyond `bytes`: a full disk that needs no root.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*signal_)(int);
  rlimit before_{};
};

void CheckRefusal(const EdgeAnswer& answer, const char* reason) {
  if (!answer.OneLineOnErr()) FAIL(("not one line: " + answer.err).c_str());
  LONGS_EQUAL_TEXT(2, answer.exit_code, reason);
  STRCMP_EQUAL_TEXT("", answer.out.c_str(), reason);
  STRCMP_CONTAINS(reason, answer.err.c_str());
}

// By name, of the checkpoint files in a folder.
std::map<std::string, std::string> FilesIn(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = ReadAll(entry.path().string());
  }
  return files;
}

}  // namespace

TEST_GROUP(EdgeRefusals) { EdgeFolder folder; };

TEST(EdgeRefusals, AMistypedFlagIsAnsweredInOneLine) {
  const struct {
    const char* flag;
    const char* value;
    const char* reason;
  } cases[] = {
      {"--model", "lenet6", "no model is called 'lenet6'"},
      {"--backend", "cuda", "this build has no backend 'cuda'; choose one of auto, "},
      {"--data", "mnist:/nowhere", "there is no train-images-idx3-ubyte"},
      {"--data", "mnist", "'mnist' names no data set"},
      {"--data", "synthetic:1x28x28", "synthetic"},
      {"--batch", "0", "--batch"},
      {"--batch", "100", "100"},  // of 64 samples
      {"--lr", "nan", "--lr"},
      {"--lr", "-1", "--lr"},
      {"--momentum", "1.5", "--momentum"},
      {"--optimizer", "adam", "--optimizer"},
      {"--schedule", "linear", "'linear'"},
      {"--epochs", "1", "--epochs"},  // beside --steps
      {"--memory-budget", "lots", "'lots' is no number of bytes"},
      {"--memory-budget", "1MiB", "1MiB is below the"},
      {"--init", "/nowhere.safetensors", "/nowhere.safetensors"},
      {"--config", "/nowhere.toml", "/nowhere.toml"},
      {"--colour", "red", "--colour"},
  };
  for (const auto& [flag, value, reason] : cases) {
    CheckRefusal(folder.Type(folder.Lenet({flag, value})), reason);
  }
}

TEST(EdgeRefusals, WhatIsMissingIsAnsweredInOneLine) {
  CheckRefusal(folder.Type({"train", "--local", "--model", "lenet5"}), "--data");
  CheckRefusal(folder.Type({"train", "--local", "--data", "mnist:."}), "--model");
  CheckRefusal(folder.Type({"train", "--model", "lenet5", "--data", "synthetic:1x28x28:10"}),
               "or --local to train alone");
  CheckRefusal(folder.Type(folder.Lenet({"--resume"})), "--resume needs --checkpoint DIR");
}

TEST(EdgeRefusals, ADamagedSetIsNamed) {
  const std::string digits = folder.WriteDigits(20, 10);
  const std::vector<std::string> good = folder.Lenet({"--steps", "1", "--data", "mnist:" + digits});
  const std::string images = digits + "/train-images-idx3-ubyte";
  const std::string labels = digits + "/train-labels-idx1-ubyte";
  const std::string whole = ReadAll(images);

  WriteAll(images, whole.substr(0, whole.size() - 1));
  CheckRefusal(folder.Type(good), (images + " is 15695 bytes long where its header").c_str());
  WriteAll(images, whole.substr(0, 10));
  CheckRefusal(folder.Type(good), (images + " ends inside its header").c_str());
  WriteAll(images, "no digits at all, but a letter");
  CheckRefusal(folder.Type(good), (images + " is no IDX file").c_str());
  WriteAll(images, whole);
  std::string other = ReadAll(labels);
  other[8] = 12;
  WriteAll(labels, other);
  CheckRefusal(folder.Type(good), "the label 12, but there are only 10 classes");
  std::filesystem::remove(labels);
  CheckRefusal(folder.Type(good), "there is no train-labels-idx1-ubyte");
}

TEST(EdgeRefusals, WeightsThatDoNotFitAreRefusedAndWhatIsThereStays) {
  const std::string saved = folder.Path("ten.safetensors");
  LONGS_EQUAL(0, folder.Type(folder.Lenet({"--steps", "1", "--save", saved})).exit_code);
  const std::string bytes = ReadAll(saved);
  const EdgeAnswer seven = folder.Type(
      folder.Lenet({"--init", saved, "--save", saved, "--data", "synthetic:1x28x28:7:64"}));
  CheckRefusal(seven, "does not fit lenet5: of another shape or type: fc3.weight");
  CHECK_TRUE(bytes == ReadAll(saved));
  const std::string cut = folder.Path("cut.safetensors");
  WriteAll(cut, bytes.substr(0, bytes.size() / 2));
  CheckRefusal(folder.Type(folder.Lenet({"--init", cut})), cut.c_str());
  WriteAll(cut, "{}");
  CheckRefusal(folder.Type(folder.Lenet({"--init", cut})), cut.c_str());
}

TEST(EdgeRefusals, AnotherNumberOfClassesIsFineWithANewHead) {
  const std::string saved = folder.Path("ten.safetensors");
  LONGS_EQUAL(0, folder.Type(folder.Lenet({"--steps", "1", "--save", saved})).exit_code);
  const EdgeAnswer answer = folder.Type(
      folder.Lenet({"--init", saved, "--new-head", "--data", "synthetic:1x28x28:7:64"}));
  LONGS_EQUAL(0, answer.exit_code);
  STRCMP_CONTAINS("the classifier starts anew", answer.err.c_str());
}

TEST(EdgeRefusals, AConfigFileIsReadAsStrictlyAsFlags) {
  const std::string config = folder.Path("train.toml");
  const std::vector<std::string> arguments = {"train", "--local", "--config", config};
  const std::string good = "model = \"lenet5\"\ndata = \"synthetic:1x28x28:10:64\"\n";
  WriteAll(config, good + "colour = \"red\"\n");
  CheckRefusal(folder.Type(arguments), "--colour");
  WriteAll(config, good + "batch = \"many\"\n");
  CheckRefusal(folder.Type(arguments), "--batch");
  WriteAll(config, good + "batch = [8, 16]\n");
  CheckRefusal(folder.Type(arguments), "'batch' must be a string, a number, true or false");
  WriteAll(config, good + "batch = = 8\n");
  CheckRefusal(folder.Type(arguments), "in line 3");
}

TEST(EdgeRefusals, APlaceWhereNoWeightsCanBeIsFoundBeforeTraining) {
  const EdgeAnswer answer = folder.Type(folder.Lenet({"--save", folder.Path("no/model.st")}));
  CheckRefusal(answer, (folder.Path("no") + " is not a folder").c_str());
  std::filesystem::create_directory(folder.Path("folder"));
  CheckRefusal(folder.Type(folder.Lenet({"--save", folder.Path("folder")})),
               (folder.Path("folder") + ": that is a folder").c_str());
}

// Nobody listens there: had it tried to join, it would not have come back.
TEST(EdgeRefusals, APlaceWhereAJobCanWriteNothingIsFoundBeforeJoining) {
  const std::vector<std::string> join = {"train", "--broker", "127.0.0.1:9",
                                         "--job", "digits",   "--worker",
                                         "w0",    "--data",   "synthetic:1x28x28:10"};
  std::filesystem::create_directory(folder.Path("folder"));
  for (const std::string flag : {"--save", "--trace", "--profile-out"}) {
    std::vector<std::string> arguments = join;
    arguments.insert(arguments.end(), {flag, folder.Path("no/file")});
    CheckRefusal(folder.Type(arguments),
                 (flag + ": cannot write " + folder.Path("no/file") + ": ").c_str());
    arguments.back() = folder.Path("folder");
    CheckRefusal(folder.Type(arguments),
                 (flag + ": cannot write " + folder.Path("folder") + ": that is a folder").c_str());
  }
}

TEST(EdgeRefusals, APlaceWhereNoCheckpointCanBeIsFoundBeforeTraining) {
  WriteAll(folder.Path("file"), "in the way");
  const EdgeAnswer answer = folder.Type(folder.Lenet({"--checkpoint", folder.Path("file/below")}));
  LONGS_EQUAL(1, answer.exit_code);
  CHECK_TRUE(answer.OneLineOnErr());
  STRCMP_EQUAL("", answer.out.c_str());
  STRCMP_CONTAINS("cannot use checkpoint folder", answer.err.c_str());
  STRCMP_EQUAL("in the way", ReadAll(folder.Path("file")).c_str());
}

TEST(EdgeRefusals, AFullDiskEndsTheRunAndTheCheckpointBeforeIsGood) {
  const std::string whole = folder.Type(folder.Lenet()).ModelHash();
  const std::vector<std::string> kept =
      folder.Lenet({"--checkpoint", folder.Path("kept"), "--checkpoint-every", "2", "--resume"});
  LONGS_EQUAL(0, folder.Type(kept, 5).exit_code);  // is asked to stop, and saves step 5
  const std::map<std::string, std::string> before = FilesIn(folder.Path("kept"));
  EdgeAnswer answer;
  {
    const FullDisk full(100'000);  // a checkpoint has 500 kB
    answer = folder.Type(kept);
  }
  LONGS_EQUAL(1, answer.exit_code);
  CHECK_TRUE(answer.OneLineOnErr());
  STRCMP_CONTAINS(folder.Path("kept").c_str(), answer.err.c_str());
  LONGS_EQUAL(6, answer.Objects().front()["step"].get<int>());
  LONGS_EQUAL(1, answer.Objects().size());
  CHECK_TRUE(before == FilesIn(folder.Path("kept")));

  answer = folder.Type(kept);
  LONGS_EQUAL(6, answer.Objects().front()["step"].get<int>());
  STRCMP_EQUAL(whole.c_str(), answer.ModelHash().c_str());
}

TEST(EdgeRefusals, AFullDiskLeavesTheOldWeightsWhereTheNewOnesWereToBe) {
  const std::string saved = folder.Path("model.safetensors");
  WriteAll(saved, "the old ones");
  EdgeAnswer answer;
  {
    const FullDisk full(100'000);
    answer = folder.Type(folder.Lenet({"--save", saved}));
  }
  LONGS_EQUAL(1, answer.exit_code);
  CHECK_TRUE(answer.OneLineOnErr());
  STRCMP_CONTAINS(saved.c_str(), answer.err.c_str());
  STRCMP_EQUAL("the old ones", ReadAll(saved).c_str());
}

TEST(EdgeRefusals, ACheckpointOfAnotherRunIsRefusedAndStays) {
  const auto seeded = [&](const char* seed) {
    return folder.Lenet({"--checkpoint", folder.Path("kept"), "--resume", "--seed", seed});
  };
  LONGS_EQUAL(0, folder.Type(seeded("1")).exit_code);
  const std::map<std::string, std::string> before = FilesIn(folder.Path("kept"));
  CheckRefusal(folder.Type(seeded("2")), "use the same settings, or another folder");
  CHECK_TRUE(before == FilesIn(folder.Path("kept")));
}

TEST(EdgeRefusals, ACheckpointThatIsDamagedThroughoutIsRefusedAndStays) {
  const std::vector<std::string> kept =
      folder.Lenet({"--checkpoint", folder.Path("kept"), "--checkpoint-every", "6", "--resume"});
  LONGS_EQUAL(0, folder.Type(kept).exit_code);
  for (const char* slot : {"kept/trainer.0.checkpoint", "kept/trainer.1.checkpoint"}) {
    std::string bytes = ReadAll(folder.Path(slot));
    bytes[bytes.size() / 2] ^= 1;
    WriteAll(folder.Path(slot), bytes);
  }
  const std::map<std::string, std::string> before = FilesIn(folder.Path("kept"));
  CheckRefusal(folder.Type(kept), "trainer.0.checkpoint");
  CHECK_TRUE(before == FilesIn(folder.Path("kept")));
}

TEST(EdgeRefusals, ALossThatIsNotFiniteEndsTheRunAndNamesTheLayer) {
  const std::string saved = folder.Path("model.safetensors");
  const EdgeAnswer answer =
      folder.Type(folder.Lenet({"--lr", "1e6", "--save", saved, "--schedule", "constant"}));
  LONGS_EQUAL(2, answer.exit_code);
  CHECK_TRUE(answer.OneLineOnErr());
  STRCMP_CONTAINS("is not finite; the first layer that overflows is '", answer.err.c_str());
  bool named = false;
  for (const char* layer : {"'conv1'", "'conv2'", "'fc1'", "'fc2'", "'fc3'"}) {
    named |= answer.err.find(layer) != std::string::npos;
  }
  CHECK_TRUE(named);
  for (const nlohmann::json& step : answer.Objects()) CHECK_TRUE(step["loss"].is_number());
  CHECK_FALSE(std::filesystem::exists(saved));
}

TEST(EdgeRefusals, TheFirstLayerThatWentWrongIsTheOneNamed) {
  const std::string saved = folder.Path("model.safetensors");
  LONGS_EQUAL(0, folder.Type(folder.Lenet({"--save", saved})).exit_code);
  std::string bytes = ReadAll(saved);
  const auto spoil = [&](const char* tensor) {
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
    const auto header = nlohmann::json::parse(bytes.substr(sizeof(header_bytes), header_bytes));
    const uint64_t begin = header[tensor]["data_offsets"][0];
    const float nan = std::nanf("");
    std::memcpy(&bytes[sizeof(header_bytes) + header_bytes + begin], &nan, sizeof(nan));
    WriteAll(saved, bytes);
  };
  spoil("fc3.weight");
  CheckRefusal(folder.Type(folder.Lenet({"--init", saved})),
               "the loss of step 1 is not finite; the first layer that overflows is 'fc3'");
  spoil("conv2.weight");
  CheckRefusal(folder.Type(folder.Lenet({"--init", saved, "--backend", "ref"})),
               "the loss of step 1 is not finite; the first layer that overflows is 'conv2'");
}

}  // namespace weft::apps
