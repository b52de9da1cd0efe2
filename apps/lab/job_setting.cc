// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_setting.h"

#include <fmt/format.h>

#include <cassert>

#include "cloud_ps/broker/broker_config.h"

namespace weft::apps {
namespace {

// What the broker must be able to hold: more than the servers let anybody send.
constexpr int64_t kSegmentBytes = 1 << 20;
constexpr int64_t kWindowBytes = 8 << 20;

void Add(std::vector<std::string>& words, const char* flag, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(flag);
  words.push_back(value);
}

std::string NumberText(double number) { return number == 0 ? "" : fmt::format("{}", number); }

std::string AddressOf(const Meeting& meeting) {
  return meeting.host + ":" + std::to_string(meeting.port);
}

// What every device of the job is told, one that trains alone, too.
std::vector<std::string> EdgeWords(const JobSetting& job, const std::string& program) {
  std::vector<std::string> words;
  if (!job.times.empty()) words = {"env", "XDG_CACHE_HOME=" + job.times};
  words.insert(words.end(), {program, "train", "--json"});
  Add(words, "--data", job.data);
  words.emplace_back("--no-augment");  // what a short training can use is the images themselves
  Add(words, "--threads", std::to_string(job.threads));
  return words;
}

}  // namespace

std::string WorkerName(int worker) { return "w" + std::to_string(worker + 1); }

std::vector<std::string> ServerWords(const JobSetting& job, const Meeting& meeting, int shard,
                                     const std::string& program, const std::string& state) {
  std::vector<std::string> words = {program, "serve", "--json"};
  Add(words, "--broker", AddressOf(meeting));
  Add(words, "--job", job.job);
  Add(words, "--state", state);
  Add(words, "--model", job.model);
  Add(words, "--input", job.input);
  Add(words, "--classes", job.classes == 0 ? "" : std::to_string(job.classes));
  Add(words, "--rounds", std::to_string(job.rounds));
  Add(words, "--workers", std::to_string(job.workers));
  Add(words, "--batch", std::to_string(job.batch));
  Add(words, "--lr", NumberText(job.learning_rate));
  Add(words, "--checkpoint-every",
      job.checkpoint_every == 0 ? "" : std::to_string(job.checkpoint_every));
  Add(words, "--strategy", job.strategy);
  if (job.shards > 1) Add(words, "--shard", fmt::format("{}/{}", shard, job.shards));
  return words;
}

std::vector<std::string> WorkerWords(const JobSetting& job, const Meeting& meeting, int worker,
                                     const std::string& program) {
  std::vector<std::string> words = EdgeWords(job, program);
  Add(words, "--broker", AddressOf(meeting));
  Add(words, "--job", job.job);
  Add(words, "--worker", WorkerName(worker));
  Add(words, "--share", fmt::format("{}/{}", worker, job.workers));
  if (job.shards > 1) Add(words, "--shards", std::to_string(job.shards));
  Add(words, "--compute", job.compute);
  if (!job.traces.empty()) {
    Add(words, "--trace", fmt::format("{}{}.json", job.traces, WorkerName(worker)));
  }
  if (worker == 0) {
    if (job.evaluate) words.emplace_back("--eval");
    Add(words, "--save", job.save);
  }
  return words;
}

std::vector<std::string> LearnWords(const JobSetting& job, const std::string& program) {
  std::vector<std::string> words = EdgeWords(job, program);
  words.emplace_back("--local");
  Add(words, "--model", job.model);
  Add(words, "--batch", std::to_string(job.batch));
  Add(words, "--steps", "1");
  return words;
}

Result<BrokerFiles> BrokerFilesOf(const JobSetting& job, const Meeting& listen,
                                  const std::string& acl_path, bool as_root) {
  Result<ps::BrokerPlan> plan = ps::PlanBroker({.job = job.job,
                                                .workers = job.workers,
                                                .shards = job.shards,
                                                .window_bytes = kWindowBytes,
                                                .segment_bytes = kSegmentBytes,
                                                .port = listen.port,
                                                .acl_path = acl_path,
                                                .memory_limit_bytes = int64_t{4} << 30});
  if (!plan.ok()) return plan.status();
  // Within a network of its own, the loopback device is not where the workers are.
  std::string config = plan->config;
  const std::string line = fmt::format("listener {} 127.0.0.1\n", listen.port);
  assert(config.find(line) != std::string::npos);
  config.replace(config.find(line), line.size(),
                 fmt::format("listener {} {}\n", listen.port, listen.host));
  config += "log_dest stderr\nlog_timestamp false\n";
  for (const char* type : {"error", "warning", "notice", "information"}) {
    config += std::string("log_type ") + type + "\n";
  }
  // As root it would become a user who may not read its files, and lose the tie by which it dies
  // with us.
  if (as_root) config += "user root\n";
  return BrokerFiles{.config = std::move(config), .acl = plan->acl};
}

}  // namespace weft::apps
