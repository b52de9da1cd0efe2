// SPDX-License-Identifier: Apache-2.0
// A worker's side of the protocol: joins the job's servers, takes in the parameters of the round to
// compute, sends gradients up until they are acknowledged, and finds its way back when a server,
// the broker or the link was gone. It never waits: its owner calls it when a message came or time
// passed, and asks it what there is to do. docs/protocol.md tells the rules it follows.
// Thread: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/parallel.h"
#include "core/param_channel.h"
#include "core/rng.h"
#include "core/status.h"
#include "net/deaf_patience.h"
#include "net/message.h"
#include "net/peer_clock.h"
#include "net/range_set.h"
#include "net/segment_sender.h"
#include "net/topics.h"
#include "net/transport.h"
#include "net/wire_layout.h"

namespace weft::net {

class WorkerSession final : public TransportEvents {
 public:
  struct Setting {
    std::string job = {};
    std::string worker = {};
    uint64_t incarnation = 0;  // another one each time the worker starts
    int shards = 1;
    ModelHash model_hash = {};
    uint32_t batch = 0;
    std::string software = {};
  };

  // Borrows all but the setting.
  WorkerSession(const Setting& setting, const WireLayout& layout, Transport& transport,
                const Clock& clock);

  // One try at one round: parameters of one version that fit together. When what the server has
  // committed turns out to be something else, or the job goes on without us, the attempt is over
  // and another takes its place.
  struct Attempt {
    uint64_t id = 0;
    int64_t round = 0;
  };
  // The attempt to compute next, if there is one that was not begun.
  std::optional<Attempt> NextAttempt() const;
  // From now on its gradients can be released.
  void Begin(const Attempt& attempt);

  enum class UnitState { kWaiting, kReady, kGone };
  UnitState Look(const Attempt& attempt, int unit) const;
  // A unit that is ready: its parameters, then its statistics.
  std::span<const float> Parameters(int unit) const;
  std::span<const float> Statistics(int unit) const;

  // The unit's gradients, and its statistics after this step, are copied, and sent by the next Tick
  // when the segment they belong to is complete. Ignored if the attempt is over.
  void Release(const Attempt& attempt, int unit, std::span<const float> gradients,
               std::span<const float> statistics, Parallel& parallel);
  // Whether every gradient of the attempt has got its answer from the servers.
  bool AllAnswered(const Attempt& attempt) const;

  // How gradients are cut, from the next attempt's on, and parameters, from the next version's on
  // that a server has not begun to send. Without a plan, as the servers' slices are.
  void Use(const TransferPlan& plan);
  // What has crossed the link since the last call is added to `arrivals`, each direction in order.
  void TakeArrivals(std::vector<Arrival>& arrivals);
  // To the farthest server and back; 0: not known yet.
  int64_t round_trip_ns() const;

  void Report(const Telemetry& telemetry);
  // Says goodbye; nothing more is sent after it.
  void Leave(const std::string& why);

  // Does what is due. Call it after every Poll, and when the clock shows next_tick_ns().
  void Tick();
  int64_t next_tick_ns() const;

  bool joined() const;
  // All servers have said that the job is done, or the last version is here, which says the same.
  bool done() const;
  // Whether the parameters are those the job ended with. A worker that came late, or whose link
  // did not carry them in time, is done without.
  bool has_last_version() const;
  // Not Ok: this worker cannot take part, and the sentence says why. Final.
  const Status& failure() const { return failure_; }
  // Of the first server to answer; nullopt before.
  const std::optional<Welcome>& job() const { return job_; }
  // Of the servers that have welcomed us, in floats of the model: what they sum and send on as one.
  std::vector<int64_t> SliceEnds() const;
  // What was refused and what could not be understood since the last call, for people.
  std::vector<std::string> TakeProblems();
  SegmentSender::Ledger ledger() const;
  // Since the beginning.
  struct Traffic {
    int64_t segments_up = 0;
    int64_t bytes_up = 0;  // of gradients, acknowledged
    int64_t segments_down = 0;
    int64_t bytes_down = 0;  // of parameters
  };
  const Traffic& traffic() const { return traffic_; }

  // What the broker is to say for a worker whose connection breaks, to server `shard`.
  static Payload LastWill(const Setting& setting, int shard);

  void Connected(const ConnectionLimits& limits) override;
  void Disconnected(const Status& why) override;
  void Received(const std::string& topic, Payload payload, bool retained) override;
  void PublishProblem(const std::string& topic, const Status& why) override;

 private:
  static constexpr int64_t kFirstHelloWaitNs = 500'000'000;

  // What there is for each server.
  struct Link {
    int shard = 0;
    std::string level = {};  // of its topics
    bool joined = false;     // Welcome was heard for the current ticket
    bool planned = false;    // Plan was sent for it
    int64_t planned_round = 0;
    bool has_parameters = false;  // of that round
    bool plan_answered = false;   // something of that round, or later, came
    bool done = false;
    uint64_t epoch = 0;
    uint64_t ticket = 0;
    int64_t open_round = 0;
    int first_unit = 0;
    int last_unit = -1;
    std::vector<int64_t> slice_ends = {};  // from the start of first_unit
    uint32_t heartbeat_ms = 1000;
    uint32_t timeout_ms = 10000;
    std::optional<SegmentSender> sender = {};
    PeerClock clock = {};
    Ack acks = {};
    int64_t next_hello_ns = 0;
    int64_t hello_wait_ns = 0;
    int64_t next_heartbeat_ns = 0;
    int64_t last_heard_ns = 0;
    // When it was asked for a round, opened one, or last sent something of the one that comes in.
    int64_t progress_ns = 0;
  };
  struct Push {
    bool alive = false;
    uint64_t attempt = 0;
    int64_t round = -1;
    std::vector<bool> released = {};  // by unit
    std::vector<int64_t> ends = {};
    std::vector<int64_t> turns = {};
  };

  void Handle(Link& link, const Message& message, const Welcome& welcome);
  void Handle(Link& link, const Message& message, const Refuse& refuse);
  void Handle(Link& link, const Message& message, const Segment& segment);
  void Handle(Link& link, const Message& message, const Ack& ack);
  void Handle(Link& link, const Message& message, const Nack& nack);
  void Handle(Link& link, const Message& message, const Heartbeat& heartbeat);
  void Handle(Link& link, const Message& message, const Goodbye& goodbye);
  template <typename Other>
  void Handle(Link& link, const Message& message, const Other& other);

  Header HeaderFor(const Link& link, int64_t round) const;
  void Send(Link& link, Lane lane, int64_t round, Body body);
  void SendSegment(Link& link, const OutgoingSegment& segment);
  bool Fits(const Welcome& welcome);
  // Goes to look for the server again; `soon` without the usual pause.
  void Rejoin(Link& link, bool soon);
  void ForgetUncommitted(Link& link, int64_t open);
  void JoinedAnew(Link& link);
  void StartOver();
  int64_t WantedRound() const;
  bool MayGoOnTo(int64_t round) const;
  bool IsAhead(const Link& link, int64_t round) const;
  void LookForOlder();
  void StartPull(int64_t round);
  void StartPush(const Attempt& attempt);
  void PlanFor(Link& link, int64_t round, bool has_parameters = false);
  void SendPlan(Link& link);
  // Queues the segments that lie in or reach into `range` and are wholly released.
  void QueueReleased(Link& link, FloatRange range);
  FloatRange FloatsOf(const Link& link) const;
  void Arrived(const Arrival& arrival);
  void Flush();
  // The most urgent segment of all that wait, and its link, if it may be sent now.
  std::optional<std::pair<Link*, OutgoingSegment>> NextSegment(int64_t now_ns);
  void Complain(std::string problem);
  void Fail(Status status);

  // Fixed after construction.
  const Setting setting_;
  const WireLayout& layout_;
  Transport& transport_;
  const Clock& clock_;

  Rng rng_;
  bool connected_ = false;
  int64_t payload_limit_ = 0;
  std::vector<Link> links_;
  const std::shared_ptr<SharedWay> way_up_ = std::make_shared<SharedWay>();  // of all links
  bool start_over_ = true;  // once all have joined, find the common round
  std::optional<Welcome> job_;
  Status failure_;
  bool left_ = false;
  DeafPatience deaf_;
  std::vector<std::string> problems_;

  // Parameters coming in.
  uint64_t attempt_ = 0;
  int64_t pull_round_ = -1;
  uint64_t begun_ = 0;  // the last attempt that was begun
  RangeSet have_;
  std::vector<float> values_;  // [floats]

  // Gradients going out.
  Push push_;
  std::vector<float> gradients_;  // [floats]
  TransferPlan plan_;

  std::vector<Arrival> arrivals_up_;  // since they were last taken, as are those below
  std::vector<Arrival> arrivals_down_;
  Traffic traffic_;
};

}  // namespace weft::net
