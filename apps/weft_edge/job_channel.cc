// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/job_channel.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "core/clock.h"
#include "core/copy_floats.h"

namespace weft::apps {
namespace {

constexpr int64_t kPollNs = 250 * kNsPerMs;
constexpr std::chrono::milliseconds kLook(250);  // how often a wait looks at `stop`

}  // namespace

// Takes turns with the training thread.
class JobChannel::Events final : public net::TransportEvents {
 public:
  explicit Events(JobChannel& channel) : channel_(channel) {}

  void Connected(const net::ConnectionLimits& limits) override {
    const std::lock_guard<std::mutex> lock(channel_.mu_);
    channel_.session_.Connected(limits);
  }
  void Disconnected(const Status& why) override {
    channel_.log_.Warning(why.message() + "; trying again");
    const std::lock_guard<std::mutex> lock(channel_.mu_);
    channel_.session_.Disconnected(why);
  }
  void Received(const std::string& topic, net::Payload payload, bool retained) override {
    const std::lock_guard<std::mutex> lock(channel_.mu_);
    channel_.session_.Received(topic, std::move(payload), retained);
    channel_.changed_.notify_all();
  }
  void PublishProblem(const std::string& topic, const Status& why) override {
    const std::lock_guard<std::mutex> lock(channel_.mu_);
    channel_.session_.PublishProblem(topic, why);
  }

 private:
  JobChannel& channel_;
};

JobChannel::JobChannel(const net::WorkerSession::Setting& setting, const net::WireLayout& layout,
                       net::Transport& transport, const net::ConnectionLimits& limits,
                       const Clock& clock, const Logger& log, ServiceManager& manager,
                       const std::atomic<bool>& stop, Parallel& parallel)
    : transport_(transport),
      clock_(clock),
      log_(log),
      manager_(manager),
      stop_(stop),
      parallel_(parallel),
      session_(setting, layout, transport, clock) {
  session_.Connected(limits);
  thread_ = std::thread([this] { Work(); });
}

JobChannel::~JobChannel() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    session_.Leave(session_.done() ? "the job is done" : "stopped");
    ended_ = true;
  }
  transport_.Wake();
  thread_.join();
}

void JobChannel::Work() {
  prctl(PR_SET_NAME, "weft-transfers");  // so that it can be told from those that compute
  Events events(*this);
  uint64_t seen_turns = 0;
  for (;;) {
    int64_t until = clock_.NowNs() + kPollNs;
    {
      const std::lock_guard<std::mutex> lock(mu_);
      if (ended_) return;
      until = std::min(until, session_.next_tick_ns());
    }
    transport_.Poll(events, until);
    std::vector<std::string> problems;
    {
      const std::lock_guard<std::mutex> lock(mu_);
      session_.Tick();
      problems = session_.TakeProblems();
    }
    changed_.notify_all();
    if (const uint64_t turns = turns_; turns != seen_turns) {
      seen_turns = turns;
      manager_.Alive();
    }
    for (const std::string& problem : problems) log_.Warning(problem);
  }
}

template <typename Ready>
void JobChannel::Wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
  for (++turns_; !ready(); ++turns_) changed_.wait_for(lock, kLook);
}

Result<std::optional<int64_t>> JobChannel::NextRound() {
  std::unique_lock<std::mutex> lock(mu_);
  std::optional<net::WorkerSession::Attempt> attempt;
  Wait(lock, [&] {
    attempt = session_.NextAttempt();
    return attempt || session_.done() || !session_.failure().ok() || stop_;
  });
  if (!session_.failure().ok()) return session_.failure();
  if (stop_ || !attempt) return std::optional<int64_t>();
  session_.Begin(*attempt);
  attempt_ = *attempt;
  return std::optional<int64_t>(attempt_.round);
}

bool JobChannel::TakeUnit(int unit, std::span<float> parameters, std::span<float> statistics) {
  std::unique_lock<std::mutex> lock(mu_);
  auto state = net::WorkerSession::UnitState::kWaiting;
  Wait(lock, [&] {
    state = session_.Look(attempt_, unit);
    return state != net::WorkerSession::UnitState::kWaiting || stop_ || !session_.failure().ok() ||
           session_.done();
  });
  if (state != net::WorkerSession::UnitState::kReady) return false;
  CopyFloats(session_.Parameters(unit), parameters, parallel_);
  CopyFloats(session_.Statistics(unit), statistics, parallel_);
  return true;
}

void JobChannel::Release(int unit, std::span<const float> gradients,
                         std::span<const float> statistics) {
  ++turns_;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    session_.Release(attempt_, unit, gradients, statistics, parallel_);
  }
  transport_.Wake();  // the sending is done beside the computing
}

void JobChannel::Use(const TransferPlan& plan) {
  const std::lock_guard<std::mutex> lock(mu_);
  session_.Use(plan);
}

void JobChannel::TakeArrivals(std::vector<Arrival>& arrivals) {
  const std::lock_guard<std::mutex> lock(mu_);
  session_.TakeArrivals(arrivals);
}

std::vector<int64_t> JobChannel::SliceEnds() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return session_.SliceEnds();
}

int64_t JobChannel::round_trip_ns() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return session_.round_trip_ns();
}

void JobChannel::Report(const net::Telemetry& telemetry) {
  const std::lock_guard<std::mutex> lock(mu_);
  session_.Report(telemetry);
}

bool JobChannel::has_last_version() const {
  const std::lock_guard lock(mu_);
  return session_.has_last_version();
}

bool JobChannel::done() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return session_.done();
}

void JobChannel::CopyUnit(int unit, std::span<float> parameters,
                          std::span<float> statistics) const {
  const std::lock_guard<std::mutex> lock(mu_);
  const std::span<const float> p = session_.Parameters(unit);
  const std::span<const float> s = session_.Statistics(unit);
  std::copy(p.begin(), p.end(), parameters.begin());
  std::copy(s.begin(), s.end(), statistics.begin());
}

net::WorkerSession::Traffic JobChannel::traffic() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return session_.traffic();
}

net::SegmentSender::Ledger JobChannel::ledger() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return session_.ledger();
}

}  // namespace weft::apps
