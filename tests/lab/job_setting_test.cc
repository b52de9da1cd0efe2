// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_setting.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace

TEST_GROUP(JobSetting) {
  JobSetting job{.job = "j",
                 .model = "lenet5",
                 .input = "1x28x28",
                 .classes = 10,
                 .data = "mnist:d",
                 .rounds = 5,
                 .workers = 2,
                 .batch = 64,
                 .threads = 1};
  Meeting meeting{.host = "10.0.0.1", .port = 1883};
};

TEST(JobSetting, TheServerIsToldTheJob) {
  STRCMP_EQUAL(
      "weft-ps serve --json --broker 10.0.0.1:1883 --job j --state s --model lenet5 --input "
      "1x28x28 "
      "--classes 10 --rounds 5 --workers 2 --batch 64",
      Joined(ServerWords(job, meeting, 0, "weft-ps", "s")).c_str());
  job.strategy = "lbl";
  job.learning_rate = 0.1;
  job.checkpoint_every = 7;
  job.shards = 3;
  STRCMP_CONTAINS("--lr 0.1 --checkpoint-every 7 --strategy lbl --shard 2/3",
                  Joined(ServerWords(job, meeting, 2, "weft-ps", "s")).c_str());
}

TEST(JobSetting, AWorkerIsToldItsShareAndTheFirstOneTests) {
  job.evaluate = true;
  job.save = "m.safetensors";
  STRCMP_EQUAL(
      "weft-edge train --json --data mnist:d --no-augment --threads 1 --broker 10.0.0.1:1883 "
      "--job j --worker w1 --share 0/2 --eval --save m.safetensors",
      Joined(WorkerWords(job, meeting, 0, "weft-edge")).c_str());
  job.traces = "t/lbl-";
  job.compute = "replay:p.json";
  job.times = "k";
  job.shards = 3;
  STRCMP_EQUAL(
      "env XDG_CACHE_HOME=k weft-edge train --json --data mnist:d --no-augment --threads 1 "
      "--broker 10.0.0.1:1883 --job j --worker w2 --share 1/2 --shards 3 --compute replay:p.json "
      "--trace t/lbl-w2.json",
      Joined(WorkerWords(job, meeting, 1, "weft-edge")).c_str());
}

TEST(JobSetting, WhoLearnsTheKernelsTimesTrainsTheSameAlone) {
  job.times = "k";
  STRCMP_EQUAL(
      "env XDG_CACHE_HOME=k weft-edge train --json --data mnist:d --no-augment --threads 1 --local "
      "--model lenet5 --batch 64 --steps 1",
      Joined(LearnWords(job, "weft-edge")).c_str());
}

TEST(JobSetting, TheBrokerListensWhereItIsTold) {
  const BrokerFiles files = BrokerFilesOf(job, {"0.0.0.0", 1883}, "acl", false).value();
  STRCMP_CONTAINS("\nlistener 1883 0.0.0.0\n", files.config.c_str());
  CHECK_TRUE(files.config.find("127.0.0.1") == std::string::npos);
  CHECK_TRUE(files.config.find("user root") == std::string::npos);
  CHECK_TRUE(files.config.find("use_username_as_clientid false") == std::string::npos);
  STRCMP_CONTAINS("pattern read weft/j/%u/pull", files.acl.c_str());
  CHECK_FALSE(BrokerFilesOf(job, {"0.0.0.0", 0}, "acl", false).ok());
}

TEST(JobSetting, TheBrokerOfRootStaysRootAndTheOneOfManyServersTellsThemApart) {
  job.shards = 2;
  const BrokerFiles files = BrokerFilesOf(job, {"127.0.0.1", 1883}, "acl", true).value();
  STRCMP_CONTAINS("\nuser root\n", files.config.c_str());
  STRCMP_CONTAINS("\nuser ps:0\n", files.acl.c_str());
  STRCMP_CONTAINS("\nuser ps:1\n", files.acl.c_str());
}

}  // namespace weft::apps
