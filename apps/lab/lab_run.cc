// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/lab_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "apps/lab/job_display.h"
#include "apps/lab/job_run.h"
#include "apps/lab/listened_program.h"
#include "apps/lab/thread_times.h"
#include "core/clock.h"

namespace weft::apps {
namespace {

constexpr int kBrokerPort = 1883;

// Takes what the workers tell, and looks at the machine when it matters.
class Measurement {
 public:
  Measurement(const JobSetting& job, const LabNetwork& network)
      : network_(network),
        warm_ups_(static_cast<size_t>(job.workers), WarmUp(job.strategy)),
        rounds_(static_cast<size_t>(job.workers)),
        real_(job.compute.empty()) {}

  void Hear(int worker, const WorkerRound& round, const JobState& job) {
    const auto index = static_cast<size_t>(worker);
    const bool counts = warm_ups_[index].Over(round);
    if (counts) rounds_[index].push_back(round);
    if (worker != 0) return;
    // From the last round that does not count on.
    if (!counts) programs_ = ProgramsOf(job);
    MachineMoment& moment = counts ? last_ : first_;
    if (counts && moment.threads.empty()) moment.threads = first_.threads;
    moment.at_ns = clock_.NowNs();
    moment.ticks = TicksNow();
    ReadThreadTimes(programs_, moment.threads);
    moment.lateness = network_.lateness();
    moment.disk_wait_ns.clear();
    for (const ServerState& server : job.servers) {
      moment.disk_wait_ns.push_back(server.disk_wait_ns);
    }
  }

  StrategyResult Summary(const std::string& strategy, const std::string& model_hash) const {
    const bool counted = last_.at_ns > 0;
    return Summarise(strategy, rounds_, counted ? Between(first_, last_) : MachineFacts{},
                     model_hash);
  }

 private:
  std::vector<WatchedProgram> ProgramsOf(const JobState& job) const {
    std::vector<WatchedProgram> programs = {{"the lab, which carries the packets", getpid()},
                                            {"the broker", job.broker.pid}};
    for (size_t i = 0; i < job.servers.size(); ++i) {
      const bool alone = job.servers.size() == 1;
      programs.push_back(
          {alone ? "the server" : fmt::format("server {}", i + 1), job.servers[i].pid});
    }
    for (const WorkerState& worker : job.workers) {
      programs.push_back({"worker " + worker.name, worker.pid, /*computes=*/real_});
    }
    return programs;
  }

  const SteadyClock clock_;
  const LabNetwork& network_;
  std::vector<WarmUp> warm_ups_;
  std::vector<std::vector<WorkerRound>> rounds_;
  const bool real_;  // computing is not replayed
  std::vector<WatchedProgram> programs_;
  MachineMoment first_;  // of the rounds that count
  MachineMoment last_;
};

}  // namespace

Result<bool> LearnKernelTimes(const JobSetting& job, const LabTools& tools) {
  const std::vector<std::string> words = LearnWords(job, tools.companions.edge);
  Result<std::unique_ptr<ListenedProgram>> program = ListenedProgram::Start(words, nullptr);
  if (!program.ok()) return program.status();
  for (;;) {
    std::vector<pollfd> files = {{.fd = tools.stop_file, .events = POLLIN, .revents = 0}};
    for (const int file : (*program)->Files()) {
      files.push_back({.fd = file, .events = POLLIN, .revents = 0});
    }
    poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) return false;
    const std::optional<int> exit_code = (*program)->exit_code();
    (*program)->Read();
    (*program)->TakeOut();
    if (!exit_code) continue;
    if (*exit_code == 0) return true;
    return Status::Unavailable("a device alone cannot train this: " + (*program)->last_said());
  }
}

Result<std::optional<StrategyResult>> MeasureStrategy(const JobSetting& job,
                                                      const std::string& title,
                                                      const LabTools& tools) {
  Measurement measurement(job, tools.network);
  JobRun::Places places{.cloud = &tools.network.cloud(),
                        .broker_listens = "0.0.0.0",  // of the cloud's own network
                        .broker_port = kBrokerPort};
  for (int worker = 0; worker < job.workers; ++worker) {
    places.workers.push_back({&tools.network.edge(worker), LabNetwork::CloudAddress(worker)});
  }
  JobDisplay display(title, "",
                     tools.silent ? JobDisplay::Mode::kSilent : JobDisplay::Mode::kPeople,
                     tools.console);
  if (Status status = tools.network.Begin(); !status.ok()) return status;
  Result<std::unique_ptr<JobRun>> run =
      JobRun::Start(job, tools.companions, tools.scratch, job.strategy,
                    {.places = std::move(places),
                     .stop_file = tools.stop_file,
                     .on_round = [&](int worker, const WorkerRound& round, const JobState& state) {
                       measurement.Hear(worker, round, state);
                     }});
  if (!run.ok()) return run.status();
  for (;;) {
    const int wait_ms = tools.network.MsToNextChange(display.MsToNextFrame());
    const Result<JobRun::Progress> progress = (*run)->Listen(wait_ms);
    if (!progress.ok()) return progress.status().WithContext(job.strategy);
    if (*progress == JobRun::Progress::kStopped) return std::optional<StrategyResult>();
    if (Status status = tools.network.ApplyDueChanges(); !status.ok()) return status;
    if (Status status = tools.network.health(); !status.ok()) return status;
    display.Update((*run)->state());
    if (*progress == JobRun::Progress::kDone) break;
  }
  display.Finish((*run)->state());
  const Result<std::string> hash = (*run)->ModelHash();
  if (!hash.ok()) return hash.status().WithContext(job.strategy);
  run->reset();
  tools.scratch.Remove(job.strategy);
  return std::optional(measurement.Summary(job.strategy, *hash));
}

}  // namespace weft::apps
