// SPDX-License-Identifier: Apache-2.0
// Joins the training thread, which waits, and the worker's session, which never does: a thread of
// its own polls the transport, and both use the session in turn. It tells the service manager that
// the program is alive for as long as both turn.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "apps/job/service_manager.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/parallel.h"
#include "core/param_channel.h"
#include "core/status.h"
#include "net/transport.h"
#include "net/worker_session.h"

namespace weft::apps {

class JobChannel final : public ParamChannel {
 public:
  // Borrows all but the setting. The transport, which is connected and has these limits, is the
  // channel's own from now on.
  JobChannel(const net::WorkerSession::Setting& setting, const net::WireLayout& layout,
             net::Transport& transport, const net::ConnectionLimits& limits, const Clock& clock,
             const Logger& log, ServiceManager& manager, const std::atomic<bool>& stop,
             Parallel& parallel);
  // Says goodbye and ends the thread.
  ~JobChannel() override;
  JobChannel(const JobChannel&) = delete;
  JobChannel& operator=(const JobChannel&) = delete;

  // Thread of the following: the training's.

  // Waits for a round to compute, which from now on is the present one. Nullopt: the job is done,
  // or `stop` was set.
  Result<std::optional<int64_t>> NextRound();
  bool TakeUnit(int unit, std::span<float> parameters, std::span<float> statistics) override;
  void Release(int unit, std::span<const float> gradients,
               std::span<const float> statistics) override;
  void Use(const TransferPlan& plan) override;
  void TakeArrivals(std::vector<Arrival>& arrivals) override;
  std::vector<int64_t> SliceEnds() const override;
  int64_t round_trip_ns() const override;
  void Report(const net::Telemetry& telemetry);
  bool done() const;
  bool has_last_version() const;
  // Of the last version, when it is there.
  void CopyUnit(int unit, std::span<float> parameters, std::span<float> statistics) const;
  net::SegmentSender::Ledger ledger() const;
  net::WorkerSession::Traffic traffic() const;

 private:
  class Events;

  void Work();
  // Until `ready`, with mu_ held.
  template <typename Ready>
  void Wait(std::unique_lock<std::mutex>& lock, const Ready& ready);

  net::Transport& transport_;
  const Clock& clock_;
  const Logger log_;
  ServiceManager& manager_;
  const std::atomic<bool>& stop_;
  Parallel& parallel_;  // of the training's thread
  // Counts what the training thread does, looking around while it waits included. The other thread
  // vouches for both: it calls the program alive only if this has moved.
  std::atomic<uint64_t> turns_ = 0;

  mutable std::mutex mu_;
  std::condition_variable changed_;
  net::WorkerSession session_;                // guarded by mu_
  bool ended_ = false;                        // guarded by mu_
  net::WorkerSession::Attempt attempt_ = {};  // the training thread's
  std::thread thread_;                        // last: it uses the others
};

}  // namespace weft::apps
