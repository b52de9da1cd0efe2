// SPDX-License-Identifier: Apache-2.0
// `weft demo` as people start it, with a real broker: what it trains, and what it leaves behind.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/lab/job_run.h"
#include "tests/apps/typed.h"
#include "tests/edge/child_process.h"
#include "tests/files/scratch_folder.h"
#include "tests/lab/running_weft.h"
#include "tests/mqtt/broker.h"
#include "tests/places.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

using nlohmann::json;

constexpr const char* kData = "synthetic:1x28x28:10:256";

// As the demo does it: the processors are shared out among two workers.
std::string Threads() {
  return std::to_string(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 2));
}

std::string FinalHash(ChildProcess& process) {
  std::string hash;
  while (const std::optional<std::string> line = process.NextLine()) {
    const json object = json::parse(*line);
    if (object.contains("final")) hash = object["model_hash"];
  }
  return hash;
}

// Every process has ended, and the folder is not there.
void CheckGone(const std::vector<ForeignProcess>& processes, const std::string& folder) {
  for (const ForeignProcess& process : processes) {
    CHECK_TEXT(process.Ends(), process.command().c_str());
  }
  CHECK_FALSE(folder.empty());
  CHECK_FALSE(std::filesystem::exists(folder));
}

bool IsOneSentence(const std::string& err) {
  return err.starts_with("weft: ") && err.find('\n') == err.size() - 1;
}

}  // namespace

// Kernel timings are kept in the test's own folder, and made once, so that all choose alike.
TEST_GROUP(Demo) {
  ScratchFolder folder;

  void setup() override { setenv("XDG_CACHE_HOME", folder.path().c_str(), 1); }

  std::vector<std::string> Arguments(int rounds) const {
    return {"demo",   "--json", "--workers", "2",       "--rounds", std::to_string(rounds),
            "--data", kData,    "--save",    SavePath()};
  }
  std::string SavePath() const { return folder.Path("model.safetensors"); }

  // What the README tells people to type.
  std::string HashByHand(int rounds) const {
    ChildProcess alone(
        EdgeCommand({"train", "--local", "--model", "lenet5", "--data", kData, "--batch", "64",
                     "--steps", "1", "--threads", Threads(), "--json"}));
    LONGS_EQUAL(0, alone.Wait());
    net::Broker broker;
    const std::string address = "127.0.0.1:" + std::to_string(broker.port());
    ChildProcess server(PsCommand({"serve",
                                   "--broker",
                                   address,
                                   "--job",
                                   "demo",
                                   "--state",
                                   folder.Path("state"),
                                   "--rounds",
                                   std::to_string(rounds),
                                   "--workers",
                                   "2",
                                   "--model",
                                   "lenet5",
                                   "--input",
                                   "1x28x28",
                                   "--classes",
                                   "10",
                                   "--batch",
                                   "64",
                                   "--lr",
                                   "0.01",
                                   "--json"}));
    const auto worker = [&](const char* name, const char* share) {
      return EdgeCommand({"train", "--broker", address, "--job", "demo", "--worker", name,
                          "--share", share, "--data", kData, "--threads", Threads(), "--json"});
    };
    ChildProcess first(worker("w1", "0/2"));
    ChildProcess second(worker("w2", "1/2"));
    std::string hash = FinalHash(first);
    LONGS_EQUAL(64, hash.size());
    return hash;
  }

  // Follows a demo to its end.
  json LastObject(RunningWeft & weft) const {
    json object;
    while (const std::optional<std::string> line = weft.NextLine()) object = json::parse(*line);
    return object;
  }
};

TEST(Demo, TrainsWhatTheProgramsTrainByHandThoughAWorkerIsKilled) {
  constexpr int kRounds = 20;
  const std::string by_hand = HashByHand(kRounds);
  RunningWeft weft(Arguments(kRounds));
  json object = json::parse(*weft.NextLine());
  LONGS_EQUAL(1, object["round"].get<int>());
  CHECK_TRUE(object["loss"].get<double>() > 0);
  const ForeignProcess worker = weft.Child("--worker w2");
  kill(worker.pid(), SIGKILL);
  object = LastObject(weft);
  LONGS_EQUAL(kExitOk, weft.ExitCode());
  STRCMP_EQUAL(by_hand.c_str(), object["model_hash"].get<std::string>().c_str());
  LONGS_EQUAL(kRounds, object["rounds"].get<int>());
  CHECK_TRUE(object["top1"].get<double>() > 0 && object["top1"].get<double>() <= 1);
  CHECK_TRUE(object["seconds"].get<double>() > 0);
  CHECK_TRUE(std::filesystem::file_size(SavePath()) > 200'000);
  STRCMP_EQUAL("", weft.err().c_str());
}

TEST(Demo, KilledItLeavesNeitherProcessesNorFiles) {
  RunningWeft weft(Arguments(1'000'000));
  CHECK_TRUE(weft.NextLine().has_value());
  const std::vector<ForeignProcess> children = weft.Children();
  LONGS_EQUAL(5, children.size());  // broker, server, two workers, and who cleans up
  const std::string scratch = weft.ScratchPath();
  weft.Signal(SIGKILL);
  CheckGone(children, scratch);
}

TEST(Demo, StoppedItLeavesNothingAndSaysSo) {
  RunningWeft weft(Arguments(1'000'000));
  CHECK_TRUE(weft.NextLine().has_value());
  const std::vector<ForeignProcess> children = weft.Children();
  const std::string scratch = weft.ScratchPath();
  weft.Signal(SIGINT);
  LONGS_EQUAL(128 + SIGINT, weft.ExitCode());
  STRCMP_EQUAL("weft: stopped; what it had started has ended\n", weft.err().c_str());
  CheckGone(children, scratch);
}

TEST(Demo, AWorkerThatFailsEndsItInOneSentence) {
  std::vector<std::string> arguments = Arguments(10);
  arguments[7] = "synthetic:1x28x28:10:8";  // fewer images than a round takes
  RunningWeft weft(arguments);
  LONGS_EQUAL(kExitFailure, weft.ExitCode());
  CHECK_TRUE(IsOneSentence(weft.err()));
  STRCMP_CONTAINS("weft: worker w", weft.err().c_str());
}

TEST(Demo, WithoutItsCompanionsItSaysHowToGetThem) {
  const std::string lonely = folder.Path("weft");
  std::filesystem::copy_file(tests::Workbench(), lonely);
  RunningWeft weft(Arguments(1), lonely);
  LONGS_EQUAL(kExitBadInput, weft.ExitCode());
  CHECK_TRUE(IsOneSentence(weft.err()));
  STRCMP_CONTAINS("weft-ps'; ./dev build makes it", weft.err().c_str());
  STRCMP_CONTAINS("apt-get install mosquitto",
                  Companions::Find("/nowhere:").status().message().c_str());
}

TEST(Demo, ABrokerWhosePortIsTakenIsOneSentence) {
  const net::Broker other;
  const Result<Companions> companions = Companions::Find();
  const Result<std::unique_ptr<Scratch>> scratch = Scratch::Create(1);
  const Result<std::unique_ptr<JobRun>> run =
      JobRun::Start({.model = "lenet5", .rounds = 1}, *companions, **scratch, "taken",
                    {.places = {.broker_port = other.port()}});
  CHECK_FALSE(run.ok());
  const std::string expected =
      "mosquitto cannot listen: port " + std::to_string(other.port()) + " is taken";
  STRCMP_EQUAL(expected.c_str(), run.status().message().c_str());
}

TEST(Demo, RefusesMistakesInOneLine) {
  const std::vector<std::string> mistakes[] = {
      {"demo", "--workers", "0"},
      {"demo", "--rounds", "0"},
      {"demo", "--strategy", "best"},
      {"demo", "--strategy", "dynacomm_paper"},  // plans, but no job runs by it
      {"demo", "--data", "nothing:here"},
      {"demo", "--data", folder.path()},
      {"demo", "--model", "resnet17", "--data", kData},
      {"demo", "--model", "alexnet", "--data", "synthetic:3x8x8:10"},
      {"lab"},
      {"lab", "--model", "lenet5"},
      {"lab", "--model", "resnet17", "--mbps", "10"},
      {"lab", "--model", "lenet5", "--mbps", "10", "--strategies", "dynacomm_paper"},
      {"lab", "--model", "lenet5", "--mbps", "10", "--strategies", "fast"},
      {"lab", "--model", "lenet5", "--mbps", "10", "--plot", "run.gif"},
      {"lab", "--model", "lenet5", "--mbps", "10", "--script", "/nowhere"},
      {"lab", "--model", "lenet5", "--mbps", "10", "--loss", "101"},
      {"lab", "--model", "vgg19", "--mbps", "10", "--workers", "64", "--batch", "256"},  // 1 TB
  };
  for (const std::vector<std::string>& arguments : mistakes) {
    const Typed typed = Type(arguments);
    if (IsOneLineRefusal(typed)) continue;
    std::string line = "weft";
    for (const std::string& argument : arguments) line += " " + argument;
    FAIL((line + " -> " + std::to_string(typed.exit_code) + " " + typed.err).c_str());
  }
}

}  // namespace weft::apps
