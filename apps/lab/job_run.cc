// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/job_run.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/clock.h"

namespace weft::apps {
namespace {

constexpr int64_t kGraceMs = 1'000;
constexpr int64_t kBrokerStartNs = 10'000'000'000;
constexpr int kSignalled = 128;   // added to a signal's number, an exit code
constexpr int kMostStarts = 100;  // of one program: beyond, something else is wrong

// On loopback, where nobody listens just now; 0 if there is none.
int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool found = bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(listener);
  return found ? ntohs(address.sin_port) : 0;
}

int64_t ResidentBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  int64_t pages = 0;
  file >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// Somebody wanted it to end: by kill, kill -9 or Ctrl-C.
bool WasKilled(int exit_code) {
  const int number = exit_code - kSignalled;
  return number == SIGKILL || number == SIGTERM || number == SIGINT;
}

std::string EndingText(int exit_code) {
  if (exit_code > kSignalled) {
    return fmt::format("was ended by signal {}", exit_code - kSignalled);
  }
  return fmt::format("ended with exit code {}", exit_code);
}

}  // namespace

JobRun::JobRun(const JobSetting& setting, Options options)
    : setting_(setting), options_(std::move(options)) {
  state_.rounds = setting.rounds;
  state_.servers.resize(static_cast<size_t>(setting.shards));
  for (int worker = 0; worker < setting.workers; ++worker) {
    state_.workers.emplace_back();
    state_.workers.back().name = WorkerName(worker);
  }
}

Result<std::unique_ptr<JobRun>> JobRun::Start(const JobSetting& setting,
                                              const Companions& companions, const Scratch& scratch,
                                              const std::string& name, Options options) {
  std::unique_ptr<JobRun> run(new JobRun(setting, std::move(options)));
  const Places& places = run->options_.places;
  const Result<int> port = run->StartBroker(companions.broker, scratch, name);
  if (!port.ok()) return port.status();
  for (int shard = 0; shard < setting.shards; ++shard) {
    const std::string state = scratch.Path(fmt::format("{}/state-{}", name, shard));
    run->members_.push_back(
        {.role = Member::Role::kServer,
         .index = static_cast<size_t>(shard),
         .words = ServerWords(setting, {.port = *port}, shard, companions.server, state),
         .place = places.cloud});
  }
  for (int worker = 0; worker < setting.workers; ++worker) {
    const auto index = static_cast<size_t>(worker);
    const WorkerPlace place = places.workers.empty() ? WorkerPlace{} : places.workers[index];
    run->members_.push_back(
        {.role = Member::Role::kWorker,
         .index = index,
         .words = WorkerWords(setting, {place.broker_host, *port}, worker, companions.edge),
         .place = place.network});
  }
  if (Status status = run->LaunchAll(Member::Role::kServer); !status.ok()) return status;
  return run;
}

// A port that was free can be taken by somebody else before the broker has it.
Result<int> JobRun::StartBroker(const std::string& program, const Scratch& scratch,
                                const std::string& name) {
  Meeting listen{.host = options_.places.broker_listens, .port = options_.places.broker_port};
  const bool choose = listen.port == 0;
  constexpr int kTries = 5;
  for (int i = 0; i < (choose ? kTries : 1); ++i) {
    if (choose) listen.port = FreePort();
    const Result<bool> runs = TryBroker(listen, program, scratch, name);
    if (!runs.ok()) return runs.status();
    if (*runs) return listen.port;
  }
  return Status::Unavailable(fmt::format("mosquitto cannot listen: port {} is taken", listen.port));
}

Result<bool> JobRun::TryBroker(const Meeting& listen, const std::string& program,
                               const Scratch& scratch, const std::string& name) {
  const std::string acl = name + "/acl";
  const std::string config = name + "/mosquitto.conf";
  const Result<BrokerFiles> files =
      BrokerFilesOf(setting_, listen, scratch.Path(acl), geteuid() == 0);
  if (!files.ok()) return files.status();
  for (const auto& [file, text] : {std::pair{acl, files->acl}, {config, files->config}}) {
    if (Status status = scratch.Write(file, text); !status.ok()) return status;
  }
  members_.clear();
  members_.push_back({.role = Member::Role::kBroker,
                      .words = {program, "-c", scratch.Path(config)},
                      .place = options_.places.cloud});
  Member& broker = members_.front();
  state_.broker = {};
  state_.broker.address = fmt::format("{}:{}", listen.host, listen.port);
  if (Status status = Launch(broker); !status.ok()) return status;
  const SteadyClock clock;
  const int64_t deadline_ns = clock.NowNs() + kBrokerStartNs;
  while (clock.NowNs() < deadline_ns) {
    std::vector<pollfd> waiting;
    for (const int file : broker.program->Files()) {
      waiting.push_back({.fd = file, .events = POLLIN, .revents = 0});
    }
    poll(waiting.data(), waiting.size(), 100);
    const std::optional<int> exit_code = broker.program->exit_code();
    if (Status status = Hear(broker); !status.ok()) return status;
    if (state_.broker.running) return true;
    if (!exit_code) continue;
    const std::string said = broker.program->last_said();
    if (said.find("in use") != std::string::npos) return false;
    return Status::Unavailable(fmt::format("mosquitto {}: {}", EndingText(*exit_code), said));
  }
  return Status::Unavailable("mosquitto did not start within ten seconds");
}

JobRun::~JobRun() {
  // The broker last, so that the others can say goodbye.
  std::vector<ListenedProgram*> clients;
  std::vector<ListenedProgram*> broker;
  for (const Member& member : members_) {
    if (!member.program) continue;
    (member.role == Member::Role::kBroker ? broker : clients).push_back(member.program.get());
  }
  ListenedProgram::EndAll(clients, kGraceMs);
  ListenedProgram::EndAll(broker, kGraceMs);
}

ProgramState& JobRun::StateOf(const Member& member) {
  switch (member.role) {
    case Member::Role::kServer:
      return state_.servers[member.index];
    case Member::Role::kWorker:
      return state_.workers[member.index];
    case Member::Role::kBroker:
      break;
  }
  return state_.broker;
}

std::string JobRun::NameOf(const Member& member) const {
  switch (member.role) {
    case Member::Role::kServer:
      return setting_.shards == 1 ? "the server" : fmt::format("server {}", member.index + 1);
    case Member::Role::kWorker:
      return "worker " + state_.workers[member.index].name;
    case Member::Role::kBroker:
      break;
  }
  return "the broker";
}

Status JobRun::Launch(Member& member) {
  Result<std::unique_ptr<ListenedProgram>> program =
      ListenedProgram::Start(member.words, member.place);
  if (!program.ok()) return program.status();
  member.program = std::move(program).value();
  ProgramState& state = StateOf(member);
  state.pid = member.program->pid();
  ++state.starts;
  return Status::Ok();
}

Status JobRun::LaunchAll(Member::Role role) {
  for (Member& member : members_) {
    if (member.role != role) continue;
    if (Status status = Launch(member); !status.ok()) return status;
  }
  return Status::Ok();
}

Status JobRun::HearLine(Member& member, const std::string& line) {
  if (member.role == Member::Role::kServer) {
    const auto said = ParseServerLine(line);
    if (!said.ok()) return said.status().WithContext(NameOf(member) + " said");
    ServerState& server = state_.servers[member.index];
    if (const auto* round = std::get_if<ServerRound>(&*said)) server.Hear(*round);
    if (const auto* end = std::get_if<ServerEnd>(&*said)) server.Hear(*end);
    return Status::Ok();
  }
  const auto said = ParseWorkerLine(line);
  if (!said.ok()) return said.status().WithContext(NameOf(member) + " said");
  WorkerState& worker = state_.workers[member.index];
  if (const auto* end = std::get_if<WorkerEnd>(&*said)) worker.Hear(*end);
  if (const auto* round = std::get_if<WorkerRound>(&*said)) {
    worker.Hear(*round);
    if (options_.on_round) options_.on_round(static_cast<int>(member.index), *round, state_);
  }
  return Status::Ok();
}

Status JobRun::Hear(Member& member) {
  member.program->Read();
  for (const std::string& line : member.program->TakeErr()) {
    if (member.role == Member::Role::kBroker) state_.broker.Hear(line);
  }
  for (const std::string& line : member.program->TakeOut()) {
    if (member.role == Member::Role::kBroker) continue;
    if (Status status = HearLine(member, line); !status.ok()) return status;
  }
  return Status::Ok();
}

Status JobRun::Settle(Member& member, int exit_code) {
  const std::string said = member.program->last_said();
  member.program.reset();
  const ProgramState& state = StateOf(member);
  if (state.done && exit_code == 0) return Status::Ok();
  std::string problem = NameOf(member) + " " + EndingText(exit_code);
  if (exit_code <= kSignalled && !said.empty()) problem += ": " + said;
  // One that was asked politely leaves the job with success.
  const bool wanted = WasKilled(exit_code) || exit_code == 0;
  if (!wanted || !options_.revive || state.starts >= kMostStarts) {
    return Status::Unavailable(problem);
  }
  if (member.role == Member::Role::kWorker && state_.served()) {
    return Status::Unavailable(problem + " after the last round, when there was no way back");
  }
  if (member.role == Member::Role::kBroker) state_.broker.clients.clear();
  return Launch(member);
}

Result<JobRun::Progress> JobRun::Listen(int timeout_ms) {
  std::vector<pollfd> files = {{.fd = options_.stop_file, .events = POLLIN, .revents = 0}};
  for (const Member& member : members_) {
    if (!member.program) continue;
    for (const int file : member.program->Files()) {
      files.push_back({.fd = file, .events = POLLIN, .revents = 0});
    }
  }
  poll(files.data(), files.size(), timeout_ms);
  if (options_.stop_file >= 0 && files[0].revents != 0) return Progress::kStopped;
  for (Member& member : members_) {
    if (!member.program) continue;
    // Asked first, so that what it said before its end is read below.
    const std::optional<int> exit_code = member.program->exit_code();
    if (Status status = Hear(member); !status.ok()) return status;
    if (!exit_code) continue;
    if (Status status = Settle(member, *exit_code); !status.ok()) return status;
  }
  state_.broker.memory_bytes = ResidentBytes(state_.broker.pid);
  if (!workers_started_ && state_.broker.clients.size() >= state_.servers.size()) {
    workers_started_ = true;
    if (Status status = LaunchAll(Member::Role::kWorker); !status.ok()) return status;
  }
  const bool done =
      workers_started_ && std::all_of(members_.begin(), members_.end(), [](const Member& member) {
        return !member.program || member.role == Member::Role::kBroker;
      });
  return done ? Progress::kDone : Progress::kRunning;
}

Result<std::string> JobRun::ModelHash() const {
  std::string hash = state_.workers.front().model_hash;
  const auto differs = [&hash](const std::string& other) {
    return !other.empty() && other != hash;
  };
  for (const WorkerState& worker : state_.workers) {
    if (!differs(worker.model_hash)) continue;
    return Status::Unavailable(fmt::format("{} ended with model {} and {} with {}", worker.name,
                                           worker.model_hash, state_.workers.front().name, hash));
  }
  for (const ServerState& server : state_.servers) {
    if (!differs(server.model_hash)) continue;
    return Status::Unavailable(fmt::format("the server ended with model {} and the workers with {}",
                                           server.model_hash, hash));
  }
  return hash;
}

}  // namespace weft::apps
