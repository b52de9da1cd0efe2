// SPDX-License-Identifier: Apache-2.0
// A whole job as programs of this machine: a broker, the servers, the workers. They never outlive
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/lab/companions.h"
#include "apps/lab/job_setting.h"
#include "apps/lab/job_state.h"
#include "apps/lab/listened_program.h"
#include "apps/lab/scratch.h"
#include "core/status.h"
#include "net/link/network_namespace.h"

namespace weft::apps {

// Thread: one.
class JobRun {
 public:
  // Where programs run; nullptr: where we are. What they point to must outlive the run.
  struct WorkerPlace {
    const net::NetworkNamespace* network = nullptr;
    std::string broker_host = "127.0.0.1";  // as it is seen from there
  };
  struct Places {
    const net::NetworkNamespace* cloud = nullptr;
    std::string broker_listens = "127.0.0.1";
    int broker_port = 0;                    // 0: one that is free
    std::vector<WorkerPlace> workers = {};  // empty: all where we are
  };
  struct Options {
    Places places = {};
    // Programs that somebody kills are started again with the same words. Else that is a failure.
    bool revive = false;
    int stop_file = -1;  // for poll: readable once somebody wants everything to end
    // Each worker's rounds as they are told, with all that is known of the job then.
    std::function<void(int worker, const WorkerRound& round, const JobState& job)> on_round = {};
  };

  // Returns when the broker runs and the servers have been started; the workers follow when the
  // servers are there. `name` is a folder in `scratch`, which must outlive the run. Unavailable, in
  // one sentence, if a program does not start.
  static Result<std::unique_ptr<JobRun>> Start(const JobSetting& setting,
                                               const Companions& companions, const Scratch& scratch,
                                               const std::string& name, Options options);
  // Ends what still runs.
  ~JobRun();
  JobRun(const JobRun&) = delete;
  JobRun& operator=(const JobRun&) = delete;

  enum class Progress { kRunning, kDone, kStopped };
  // Listens for at most so long. Unavailable: a program failed; the sentence has its last words.
  Result<Progress> Listen(int timeout_ms);

  const JobState& state() const { return state_; }
  // Of the trained model, once it is done: all of them must have the same. Unavailable if not.
  Result<std::string> ModelHash() const;

 private:
  struct Member {
    enum class Role { kBroker, kServer, kWorker };
    Role role;
    size_t index = 0;  // among its kind
    std::vector<std::string> words;
    const net::NetworkNamespace* place = nullptr;
    std::unique_ptr<ListenedProgram> program;  // nullptr: it is done
  };

  JobRun(const JobSetting& setting, Options options);
  // The port; the broker runs.
  Result<int> StartBroker(const std::string& program, const Scratch& scratch,
                          const std::string& name);
  // False: the port is taken.
  Result<bool> TryBroker(const Meeting& listen, const std::string& program, const Scratch& scratch,
                         const std::string& name);
  Status Launch(Member& member);
  Status LaunchAll(Member::Role role);
  Status Hear(Member& member);
  Status HearLine(Member& member, const std::string& line);
  // `member` has ended.
  Status Settle(Member& member, int exit_code);
  ProgramState& StateOf(const Member& member);
  std::string NameOf(const Member& member) const;

  const JobSetting setting_;
  const Options options_;
  std::vector<Member> members_;  // the broker first
  bool workers_started_ = false;
  JobState state_;
};

}  // namespace weft::apps
