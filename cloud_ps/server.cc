// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/server.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/clock.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::ps {
namespace {

constexpr int64_t kFarewellNs = 10'000 * kNsPerMs;  // a last word has so long to reach somebody
constexpr int64_t kInviteNs = 2'000 * kNsPerMs;

int64_t MaxMessageBytes(const net::Welcome& welcome) {
  const int64_t plan_ends = net::kPlanEnds + static_cast<int64_t>(welcome.units.size());
  return std::max(static_cast<int64_t>(welcome.segment_bytes),
                  plan_ends * static_cast<int64_t>(sizeof(uint64_t))) +
         net::kEnvelopeBytes;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Create(const ServerSetting& setting, const Parts& parts) {
  if (!net::IsName(setting.job)) {
    return Status::InvalidInput("'" + setting.job +
                                "' is not a job's name; use letters, digits, '-', '_' and '.'");
  }
  if (setting.quorum < 1 || setting.workers < 1 || setting.max_workers < setting.quorum ||
      setting.max_workers < setting.workers) {
    return Status::InvalidInput("a quorum of " + std::to_string(setting.quorum) + " and " +
                                std::to_string(setting.workers) + " workers do not fit into " +
                                std::to_string(setting.max_workers) + " workers at most");
  }
  Result<net::WireLayout::UnitRange> units = parts.layout.Shard(setting.shard, setting.shards);
  if (!units.ok()) return units.status();
  const int64_t floats = parts.layout.Units(units->first, units->last).size();
  if (floats == 0) {
    return Status::InvalidInput("this server's share of the model is empty; use fewer servers");
  }
  const int64_t slice = setting.slice_floats > 0 ? setting.slice_floats : floats;
  return std::unique_ptr<Server>(
      new Server(setting, parts, *units, parts.layout.SliceEnds(*units, slice)));
}

Server::Server(const ServerSetting& setting, const Parts& parts, net::WireLayout::UnitRange units,
               std::vector<uint64_t> slice_ends)
    : setting_([&] {
        ServerSetting filled = setting;
        filled.welcome.units = parts.layout.units();
        filled.welcome.first_unit = static_cast<uint32_t>(units.first);
        filled.welcome.last_unit = static_cast<uint32_t>(units.last);
        filled.welcome.slice_ends = slice_ends;
        return filled;
      }()),
      parts_(parts),
      units_(units),
      part_(parts.layout.Units(units.first, units.last)),
      slices_(std::move(slice_ends)),
      aggregator_(parts.layout, units, parts.optimizer),
      gate_({.job = setting.job,
             .shard = setting.shard,
             .shards = setting.shards,
             .max_message_bytes = MaxMessageBytes(setting_.welcome)}),
      level_(net::JobLevel(setting.job, setting.shard, setting.shards)),
      state_(static_cast<size_t>(aggregator_.state_floats()), 0.0f),
      mean_(static_cast<size_t>(slices_.floats()), 0.0f),
      slice_(static_cast<size_t>(slices_.count())),
      budget_(WorkerBudget::For(slices_.floats() * static_cast<int64_t>(sizeof(float)),
                                static_cast<int64_t>(setting_.welcome.segment_bytes),
                                units.last - units.first + 1)) {
  for (std::vector<float>& version : values_) {
    version.assign(static_cast<size_t>(slices_.floats()), 0.0f);
  }
}

// ---- starting

Recovery Server::recovery() {
  return {.snapshot = [this](const Snapshot& s) { return TakeSnapshot(s); },
          .record = [this](const JournalRecord& r) { return TakeRecord(r); }};
}

Status Server::TakeSnapshot(const Snapshot& snapshot) {
  if (snapshot.values.size() != values_[0].size() ||
      snapshot.optimizer_state.size() != state_.size()) {
    return Status::InvalidInput("the checkpoint is of another model or optimizer");
  }
  std::copy(snapshot.values.begin(), snapshot.values.end(), values_[0].begin());
  std::copy(snapshot.optimizer_state.begin(), snapshot.optimizer_state.end(), state_.begin());
  open_ = snapshot.round;
  checkpoint_round_ = snapshot.round;
  older_whole_ = snapshot.older_values.size() == values_[1].size();
  if (older_whole_) {
    std::copy(snapshot.older_values.begin(), snapshot.older_values.end(), values_[1].begin());
  }
  return Status::Ok();
}

Status Server::TakeRecord(const JournalRecord& record) {
  if (record.round < open_) return Status::Ok();
  if (record.round > open_ || record.slice.begin < 0 || record.slice.end > floats()) {
    return Status::InvalidInput("the journal goes on at round " + std::to_string(record.round) +
                                " where round " + std::to_string(open_) + " is missing");
  }
  if (redone_.Covered(record.slice) > 0) return Status::Ok();
  aggregator_.Redo(StepOf(open_), record,
                   {.current = values_[which_], .next = values_[1 - which_], .state = state_},
                   parts_.parallel);
  redone_.Add(record.slice);
  const int slice = slices_.At(record.slice.begin);
  if (slices_[slice] == record.slice) {
    slice_[static_cast<size_t>(slice)].applied = record.contributions;
  }
  if (redone_.Covers({0, floats()})) {
    redone_.Clear();
    for (Slice& each : slice_) each = {};
    which_ = 1 - which_;
    older_whole_ = true;
    ++open_;
  }
  return Status::Ok();
}

Status Server::Start() {
  for (int slice = 0; slice < slices_.count(); ++slice) {
    const int64_t covered = redone_.Covered(slices_[slice]);
    if (covered == 0) continue;
    if (covered < slices_[slice].size()) {
      return Status::InvalidInput(
          "the last round was left half done with slices of another size; start once more with "
          "the size it had");
    }
    slice_[static_cast<size_t>(slice)].closed = true;
    slice_[static_cast<size_t>(slice)].kept = true;
    released_.Add(slices_[slice]);
    ++closed_;
  }
  begun_ = open_ > 0;
  last_tick_ns_ = parts_.clock.NowNs();
  if (finished()) {
    finished_ns_ = last_tick_ns_;
    return Status::Ok();
  }
  if (open_ == 0 && closed_ == 0) checkpoint_wanted_ = true;  // what everybody begins with
  OpenRound();
  return Status::Ok();
}

train::OptimizerStep Server::StepOf(int64_t round) const {
  const double factor = setting_.schedule.FactorAt(round, setting_.welcome.rounds);
  return {.number = round + 1, .learning_rate = setting_.learning_rate * factor};
}

// ---- time and the connection

void Server::Tick() {
  if (!failure_.ok()) return;
  const int64_t now = parts_.clock.NowNs();
  const int64_t heartbeat = setting_.welcome.heartbeat_ms * kNsPerMs;
  // While the broker says nothing, a worker's silence says nothing either.
  const bool heard = connected_ && now - parts_.transport.last_alive_ns() < 2 * heartbeat;
  if (connected_ && deaf_.Exhausted(now)) {
    renewing_ = true;
    parts_.transport.Renew("no worker has been heard for " + deaf_.Text());
  }
  if (heard) listening_ns_ += std::min(now - last_tick_ns_, heartbeat);
  last_tick_ns_ = now;

  if (only_disk_is_missing_) counts_.disk_wait_ns += now - disk_looked_ns_;
  disk_looked_ns_ = now;
  PollKeeper();
  const int64_t patience = setting_.welcome.worker_timeout_ms * kNsPerMs;
  std::vector<std::string> silent;
  for (const auto& [name, member] : members_) {
    if (!member.gone && listening_ns_ - member.last_heard > patience) silent.push_back(name);
  }
  for (const std::string& name : silent) Gone(name, "it was silent for too long");
  HandleDeadline(now);
  if (checkpoint_wanted_ && now >= checkpoint_retry_ns_) StartCheckpoint();
  Advance();
  if (now >= next_heartbeat_ns_) {
    for (auto& [name, member] : members_) {
      if (member.gone) continue;
      Send(name, member.incarnation, open_, net::Heartbeat{});
      // Others have left since it was told to wait for the next round.
      if (!finished() && !member.in_round && in_round_ < Needed() &&
          now - member.invited_ns > kInviteNs) {
        member.invited_ns = now;
        Invite(name, member.incarnation, member.batch);
      }
    }
    next_heartbeat_ns_ = now + heartbeat;
  }
  const bool saved = !checkpointing_ && disk_problem_.empty();
  if (finished() && (saved || now - finished_ns_ > kFarewellNs)) {
    for (auto& [name, member] : members_) {
      if (member.told_done || member.gone) continue;
      // However slow its link, while it takes something it is waited for.
      if (!member.sender.idle() &&
          listening_ns_ - member.last_taken < std::max(patience, kFarewellNs)) {
        continue;
      }
      SayDone(name, member.incarnation);
      member.told_done = true;
    }
  }
  FlushAll();
  only_disk_is_missing_ = OnlyDiskIsMissing();
}

int64_t Server::next_tick_ns() const {
  if (!failure_.ok()) return INT64_MAX;
  int64_t next = next_heartbeat_ns_;  // by when it looks after all that takes longer
  if (running_ && setting_.round_deadline_ns > 0) {
    const int64_t deadline = round_began_ns_ + setting_.round_deadline_ns;
    // Once it has passed, the next delivery decides.
    if (deadline > last_tick_ns_) next = std::min(next, deadline);
  }
  for (const auto& [name, member] : members_) {
    if (MaySendTo(member)) next = std::min(next, member.sender.next_retry_ns());
  }
  return next;
}

void Server::Leave() {
  for (const auto& [name, member] : members_) {
    if (member.gone || member.told_done) continue;
    Send(name, member.incarnation, open_,
         net::Goodbye{.kind = net::GoodbyeKind::kLeaving, .detail = "the server stops for now"});
  }
}

bool Server::done() const {
  if (!finished() || checkpointing_) return false;
  if (setting_.shards > 1) {
    // Workers stay until every server is done.
    return members_.empty() && parts_.clock.NowNs() - finished_ns_ > kFarewellNs;
  }
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& m) { return m.second.gone || m.second.told_done; });
}

void Server::Connected(const net::ConnectionLimits& limits) {
  connected_ = true;
  payload_limit_ = limits.payload_bytes;
  last_tick_ns_ = parts_.clock.NowNs();
  deaf_.Connected(last_tick_ns_);
  for (auto& [name, member] : members_) {
    member.last_heard = listening_ns_;  // it could not be heard
    member.sender.LimitSegments(payload_limit_ - net::kEnvelopeBytes);
    member.sender.SendAllAgain();
  }
  next_heartbeat_ns_ = last_tick_ns_;
  FlushAll();
}

void Server::Disconnected(const Status& why) {
  connected_ = false;
  if (std::exchange(renewing_, false)) {
    parts_.log.Info(why.message() + "; another connection is tried");
  } else {
    parts_.log.Warning("no broker: " + why.message());
  }
}

void Server::PublishProblem(const std::string& topic, const Status& why) {
  if (parts_.log.Wants(LogLevel::kDebug)) parts_.log.Debug(topic + ": " + why.message());
}

// ---- sending

void Server::QueueVersion(Member& member, int64_t version) {
  int64_t begin = 0;
  for (const int64_t end : member.ends) {
    member.sender.Queue({.round = version, .range = {begin + part_.begin, end + part_.begin}}, 0);
    begin = end;
  }
}

void Server::Send(const std::string& worker, uint64_t incarnation, int64_t round, net::Body body) {
  if (!connected_) return;
  net::Payload payload = net::Encode({.header = {.job = setting_.job,
                                                 .shard = static_cast<uint16_t>(setting_.shard),
                                                 .shards = static_cast<uint16_t>(setting_.shards),
                                                 .epoch = setting_.epoch,
                                                 .round = round,
                                                 .worker = worker,
                                                 .incarnation = incarnation},
                                      .body = std::move(body)});
  counts_.bytes_sent += static_cast<int64_t>(payload.size());
  parts_.transport.Publish(net::TopicOf(level_, worker, net::Lane::kPull), std::move(payload));
}

void Server::SayDone(const std::string& worker, uint64_t incarnation) {
  Send(worker, incarnation, open_,
       net::Goodbye{.kind = net::GoodbyeKind::kDone, .detail = "all rounds are done"});
}

void Server::SendSegment(const std::string& worker, Member& member,
                         const net::OutgoingSegment& segment) {
  const net::WireLayout::UnitRange place = parts_.layout.UnitsOf(segment.range);
  const net::FloatRange units = parts_.layout.Units(place.first, place.last);
  const std::vector<float>& version = values_[segment.round == open_ ? which_ : 1 - which_];
  const std::span<const float> data =
      std::span(version).subspan(static_cast<size_t>(segment.range.begin - part_.begin),
                                 static_cast<size_t>(segment.range.size()));
  Send(worker, member.incarnation, segment.round,
       net::Segment{
           .kind = net::SegmentKind::kParameters,
           .ticket = member.ticket,
           .sequence = segment.sequence,
           .first_unit = static_cast<uint32_t>(place.first),
           .last_unit = static_cast<uint32_t>(place.last),
           .total = static_cast<uint64_t>(units.size()) * sizeof(float),
           .offset = static_cast<uint64_t>(segment.range.begin - units.begin) * sizeof(float),
           .data = std::as_bytes(data),
           .follows = segment.follows});
}

void Server::Flush(const std::string& worker, Member& member) {
  if (!MaySendTo(member)) return;
  if (!member.acks.sequences.empty()) {
    member.acks.ticket = member.ticket;
    Send(worker, member.incarnation, open_, std::exchange(member.acks, {}));
  }
  const int64_t now = parts_.clock.NowNs();
  while (const std::optional<net::OutgoingSegment> segment = member.sender.Next(now)) {
    SendSegment(worker, member, *segment);
  }
}

void Server::FlushAll() {
  for (auto& [name, member] : members_) Flush(name, member);
}

ServerStatus Server::status() const {
  ServerStatus status = counts_;
  status.epoch = setting_.epoch;
  status.round = open_;
  status.rounds = setting_.welcome.rounds;
  status.slices = slices_.count();
  status.slices_closed = closed_;
  status.needed = Needed();
  status.waits_for_disk = Blocked();
  status.disk_problem = disk_problem_;
  for (const auto& [name, member] : members_) {
    WorkerStatus worker{.name = name,
                        .batch = member.batch,
                        .in_round = member.in_round,
                        .complete = member.in_round && Delivered(member),
                        .contributions = member.contributions};
    const auto refused = refused_.find(name);
    if (refused != refused_.end()) worker.refused = refused->second;
    status.workers.push_back(std::move(worker));
  }
  return status;
}

}  // namespace weft::ps
