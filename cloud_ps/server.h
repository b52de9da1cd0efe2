// SPDX-License-Identifier: Apache-2.0
// The parameter server: takes workers in, collects their gradients round by round, moves each slice
// of the model on as soon as everybody's copy of it is there, and sends it back out. It never
// waits: its owner calls it when a message came or time passed. docs/protocol.md tells the rules.
//
// Two versions are in memory: of the open round r the one the workers compute with, and, slice by
// slice, the one that comes out of it. Before its first slice is moved, the second still holds
// version r - 1.
// Thread: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud_ps/aggregator.h"
#include "cloud_ps/delivery.h"
#include "cloud_ps/input_gate.h"
#include "cloud_ps/keeper.h"
#include "cloud_ps/worker_budget.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/parallel.h"
#include "core/train/schedule.h"
#include "net/deaf_patience.h"
#include "net/message.h"
#include "net/segment_sender.h"
#include "net/transport.h"

namespace weft::ps {

struct ServerSetting {
  std::string job = {};
  int shard = 0;
  int shards = 1;
  uint64_t epoch = 1;           // grows with every start
  net::Welcome welcome = {};    // what every worker is told; the server fills in what is its own
  int64_t slice_floats = 0;     // about; 0: the whole part at once
  bool whole_versions = false;  // nothing of a version is sent before all of it is summed
  int workers = 1;              // the first round begins when so many have joined
  int quorum = 1;               // a round closes with at least so many
  int max_workers = 1000;
  int64_t round_deadline_ns = 0;   // after which a round closes without the late; 0: never
  int64_t checkpoint_every = 100;  // rounds
  double max_norm = 0;             // of a worker's gradients; 0: any
  double learning_rate = 0.1;
  train::Schedule schedule = {};
};

// How a worker stands, for people.
struct WorkerStatus {
  std::string name = {};
  uint32_t batch = 0;
  bool in_round = false;
  bool complete = false;
  int64_t contributions = 0;
  std::array<int64_t, net::kReasons> refused = {};
};

struct ServerStatus {
  uint64_t epoch = 0;
  int64_t round = 0;  // open
  int64_t rounds = 0;
  int slices_closed = 0;
  int slices = 0;
  int needed = 0;
  std::vector<WorkerStatus> workers = {};
  int64_t segments_taken = 0;
  int64_t segments_doubled = 0;
  int64_t refused = 0;
  int64_t bytes_taken = 0;
  int64_t bytes_sent = 0;
  bool waits_for_disk = false;
  int64_t disk_wait_ns = 0;  // so far: something could have gone on but for the disk
  std::string disk_problem = {};
};

class Server final : public net::TransportEvents {
 public:
  // Borrowed; all must outlive it.
  struct Parts {
    const net::WireLayout& layout;
    const train::Optimizer& optimizer;
    net::Transport& transport;
    Keeper& keeper;
    Parallel& parallel;
    const Clock& clock;
    Logger log;
  };
  // InvalidInput: the numbers do not go together.
  static Result<std::unique_ptr<Server>> Create(const ServerSetting& setting, const Parts& parts);

  int64_t floats() const { return slices_.floats(); }
  net::WireLayout::UnitRange units() const { return units_; }

  // Before Start: either the parameters to begin with, [floats] of this server's part, or what the
  // keeper has.
  std::span<float> first_values() { return values_[0]; }
  Recovery recovery();
  // Checks what was recovered and opens the round.
  Status Start();

  // Does what is due. Call it after every Poll, and when the clock shows next_tick_ns().
  void Tick();
  int64_t next_tick_ns() const;
  // Tells the workers that the server stops for now.
  void Leave();

  // All rounds are done, kept, and known to the workers that are still there.
  bool done() const;
  // All rounds are computed; what is left is to tell everybody.
  bool finished() const { return open_ >= setting_.welcome.rounds; }
  // Not Ok: the job cannot go on.
  const Status& failure() const { return failure_; }
  int64_t round() const { return open_; }
  // The parameters that the open round is computed with.
  std::span<const float> values() const { return values_[which_]; }
  std::span<const float> optimizer_state() const { return state_; }
  ServerStatus status() const;

  void Connected(const net::ConnectionLimits& limits) override;
  void Disconnected(const Status& why) override;
  void Received(const std::string& topic, net::Payload payload, bool retained) override;
  void PublishProblem(const std::string& topic, const Status& why) override;

 private:
  // What an answer names a segment by; all 0 for what is none.
  struct SegmentId {
    uint64_t ticket = 0;
    uint64_t sequence = 0;
  };
  // Someone who said Hello and has yet to show that it heard the answer.
  struct Candidate {
    uint64_t incarnation = 0;
    uint32_t batch = 0;
    uint64_t ticket = 0;
    int64_t first_round = 0;  // as it was told
    int64_t invited = 0;      // by the listening clock
  };
  struct Member {
    Member(const SliceTable& slices, const net::SegmentSender::Setting& setting)
        : delivery(slices), sender(setting) {}

    uint64_t incarnation = 0;
    uint32_t batch = 0;
    uint64_t ticket = 0;
    bool gone = false;      // has left, but its delivery is complete and counts
    bool in_round = false;  // the open round waits for it
    bool told_done = false;
    // Where the segments it wants end, in this server's part; for the version that it is being
    // sent, and for those after it.
    std::vector<int64_t> ends = {};
    std::vector<int64_t> next_ends = {};
    int64_t wanted = -1;  // the latest version it has asked for or been sent
    Delivery delivery;
    net::SegmentSender sender;
    net::Ack acks = {};
    int64_t last_heard = 0;  // by the listening clock
    int64_t last_taken = 0;  // likewise, when it acknowledged something
    int64_t invited_ns = 0;
    int64_t contributions = 0;
  };
  struct Slice {
    bool closed = false;
    bool kept = false;
    int complete = 0;  // members in the round whose copy is whole
    std::vector<Contribution> applied = {};
  };
  struct PastRound {
    int64_t round = 0;
    std::vector<std::vector<Contribution>> applied = {};  // by slice
  };

  Server(const ServerSetting& setting, const Parts& parts, net::WireLayout::UnitRange units,
         std::vector<uint64_t> slice_ends);

  void Handle(const net::Header& header, const net::Hello& hello);
  void Handle(const net::Header& header, const net::Plan& plan);
  void Handle(const net::Header& header, const net::Segment& segment);
  void Handle(const net::Header& header, const net::Ack& ack);
  void Handle(const net::Header& header, const net::Goodbye& goodbye);
  void Handle(const net::Header& header, const net::Heartbeat& heartbeat);
  template <typename Other>
  void Handle(const net::Header& header, const Other& other);

  Candidate* FindCandidate(const net::Header& header);
  // The member that says it, or null after telling it why not.
  Member* Known(const net::Header& header, SegmentId segment);
  void Refuse(const net::Header& header, SegmentId segment, net::Reason reason, std::string detail);
  void Count(const std::string& worker, net::Reason reason);
  // Whether a message is one too many of its worker's.
  bool Floods(const std::string& topic, const net::Payload& payload);
  // Makes it a candidate and tells it where the job is.
  void Invite(const std::string& worker, uint64_t incarnation, uint32_t batch);
  void Confirm(const std::string& worker, const Candidate& candidate);
  void Gone(const std::string& worker, const std::string& why);
  // Whether it has delivered all that the open round still waits for.
  bool Delivered(const Member& member) const;
  void DropFromRound(Member& member);
  int PlacesTaken();
  bool WouldJoinRound(const std::string& worker) const;
  int Needed() const;
  void Recount();
  bool WasApplied(int64_t round, int slice, const std::string& worker) const;

  // Closes what can be closed, and the round after its last slice.
  void Advance();
  bool Blocked() const;
  bool OnlyDiskIsMissing() const;
  bool ReleasesWhenKept() const;
  void Close(int slice);
  void Release(int slice);
  // Those segments of the next version that reach into `news` and may be known.
  void QueueReleased(Member& member, net::FloatRange news);
  void CommitRound();
  void OpenRound();
  void HandleDeadline(int64_t now);
  void PollKeeper();
  void Kept(int slice);
  void StartCheckpoint();

  void QueueVersion(Member& member, int64_t version);
  void Send(const std::string& worker, uint64_t incarnation, int64_t round, net::Body body);
  void SayDone(const std::string& worker, uint64_t incarnation);
  void SendSegment(const std::string& worker, Member& member, const net::OutgoingSegment& segment);
  bool MaySendTo(const Member& member) const { return connected_ && !member.gone; }
  void Flush(const std::string& worker, Member& member);
  void FlushAll();
  train::OptimizerStep StepOf(int64_t round) const;
  Status TakeSnapshot(const Snapshot& snapshot);
  Status TakeRecord(const JournalRecord& record);

  // Fixed after construction.
  const ServerSetting setting_;
  const Parts parts_;
  const net::WireLayout::UnitRange units_;
  const net::FloatRange part_;  // of the whole layout
  const SliceTable slices_;
  const Aggregator aggregator_;
  const InputGate gate_;
  const std::string level_;

  // The model.
  int64_t open_ = 0;
  int which_ = 0;                             // values_[which_] is version open_
  std::array<std::vector<float>, 2> values_;  // [floats] each
  bool older_whole_ = false;  // values_[1 - which_] is version open_ - 1, or becoming open_ + 1
  std::vector<float> state_;
  std::vector<float> mean_;  // [floats]
  std::vector<Slice> slice_;
  int closed_ = 0;
  net::RangeSet released_;  // of the next version, to the workers
  net::RangeSet redone_;    // of the open round, from the journal
  std::deque<PastRound> past_;

  // The workers, in the order in which they are added up.
  std::map<std::string, Member> members_;
  std::map<std::string, std::vector<Candidate>> candidates_;  // the latest last
  std::map<std::string, std::array<int64_t, net::kReasons>> refused_;
  std::set<std::string> quarantined_;
  WorkerBudget budget_;
  int in_round_ = 0;
  bool begun_ = false;    // enough workers were there once
  bool running_ = false;  // enough workers are in the open round; the deadline counts
  uint64_t last_ticket_ = 0;

  // Time.
  bool connected_ = false;
  bool renewing_ = false;  // we asked for another connection
  net::DeafPatience deaf_;
  int64_t payload_limit_ = 0;
  int64_t round_began_ns_ = 0;
  int64_t next_heartbeat_ns_ = 0;
  int64_t last_tick_ns_ = 0;
  int64_t listening_ns_ = 0;  // time during which workers could be heard
  int64_t finished_ns_ = 0;

  // What the keeper is doing.
  int appends_ = 0;
  int64_t appends_round_ = 0;  // of the appends that are under way
  bool checkpointing_ = false;
  bool checkpoint_wanted_ = false;
  int64_t checkpoint_round_ = 0;  // of the last that was kept
  int64_t checkpoint_retry_ns_ = 0;
  std::string disk_problem_;
  bool only_disk_is_missing_ = false;  // since the last tick
  int64_t disk_looked_ns_ = 0;         // that tick

  std::vector<float> scratch_;
  Status failure_;
  ServerStatus counts_;
};

}  // namespace weft::ps
