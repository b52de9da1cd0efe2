// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/server.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "cloud_ps/number_checks.h"
#include "core/hex_text.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::ps {
namespace {

using net::Reason;

constexpr int64_t kMs = 1'000'000;
constexpr size_t kPastRounds = 4;              // whose verdicts are remembered
constexpr int64_t kQuarantineAfter = 100;      // refusals that no honest worker gets
constexpr size_t kMostStrangers = 10'000;      // whose refusals are counted
constexpr int64_t kFarewellNs = 10'000 * kMs;  // a last word has so long to reach somebody
constexpr int64_t kInviteNs = 2'000 * kMs;
constexpr size_t kMostCandidates = 4;  // of one name
constexpr int64_t kDiskRetryNs = 5'000 * kMs;

// What only a broken or hostile worker sends.
bool IsOffence(Reason reason) {
  switch (reason) {
    case Reason::kTooLarge:
    case Reason::kMalformed:
    case Reason::kWrongIdentity:
    case Reason::kBadField:
    case Reason::kShapeMismatch:
    case Reason::kNonFinite:
    case Reason::kNorm:
    case Reason::kRetained:
      return true;
    default:
      return false;
  }
}

// `bytes` as floats; by way of `scratch` where they do not lie as floats must.
std::span<const float> AsFloats(std::span<const std::byte> bytes, std::vector<float>& scratch) {
  const size_t count = bytes.size() / sizeof(float);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) == 0) {
    return {reinterpret_cast<const float*>(bytes.data()), count};
  }
  scratch.resize(count);
  std::memcpy(scratch.data(), bytes.data(), bytes.size());
  return scratch;
}

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
      slice_(static_cast<size_t>(slices_.count())) {
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

// ---- messages

void Server::Received(const std::string& topic, net::Payload payload, bool retained) {
  if (!failure_.ok()) return;
  std::variant<net::Message, InputGate::Turned> looked = gate_.Look(topic, payload, retained);
  if (const auto* turned = std::get_if<InputGate::Turned>(&looked)) {
    if (turned->worker.empty()) {  // nobody to tell
      ++counts_.refused;
      return;
    }
    net::Header header = turned->header.value_or(net::Header{});
    header.worker = turned->worker;  // whoever the sender says it is, the topic's owner is told
    Refuse(header, {turned->ticket, turned->sequence}, turned->refusal.reason,
           turned->refusal.detail);
    return;
  }
  const net::Message& message = std::get<net::Message>(looked);
  std::visit([&](const auto& body) { Handle(message.header, body); }, message.body);
}

void Server::Handle(const net::Header& header, const net::Hello& hello) {
  const auto refuse = [&](Reason reason, std::string detail) {
    Count(header.worker, reason);
    Send(header.worker, header.incarnation, open_, net::Refuse{{reason, std::move(detail)}});
  };
  if (hello.least_version > net::kProtocolVersion || hello.most_version < net::kProtocolVersion) {
    return refuse(Reason::kUnsupportedVersion,
                  "the worker speaks protocol versions " + std::to_string(hello.least_version) +
                      " to " + std::to_string(hello.most_version) + " and the server " +
                      std::to_string(net::kProtocolVersion) + "; install versions that overlap");
  }
  net::Welcome welcome = setting_.welcome;
  welcome.first_round = open_;
  if (hello.model_hash == net::ModelHash{}) {  // only asks
    return Send(header.worker, header.incarnation, open_, std::move(welcome));
  }
  if (hello.model_hash != setting_.welcome.model_hash) {
    return refuse(Reason::kWrongModel, "the worker has model " + HexText(hello.model_hash) +
                                           " and the job trains " +
                                           HexText(setting_.welcome.model_hash));
  }
  if (quarantined_.contains(header.worker)) {
    return refuse(Reason::kQuarantined,
                  "this worker has sent too much that no honest worker sends; restart the server "
                  "to let it in again");
  }
  // Where there are several servers, another one may still need this worker, and it our last
  // version but one.
  if (finished() && setting_.shards == 1) return SayDone(header.worker, header.incarnation);
  const auto member = members_.find(header.worker);
  if (member != members_.end() && !member->second.gone && !hello.start_over &&
      member->second.incarnation == header.incarnation) {
    // It had lost sight of us, or the answer was lost.
    member->second.last_heard = listening_ns_;
    welcome.ticket = member->second.ticket;
    welcome.first_round = member->second.in_round || finished() ? open_ : open_ + 1;
    return Send(header.worker, header.incarnation, open_, std::move(welcome));
  }
  if (member == members_.end() && !candidates_.contains(header.worker) &&
      PlacesTaken() >= setting_.max_workers) {
    return refuse(Reason::kJobFull, "the job has its " + std::to_string(setting_.max_workers) +
                                        " workers; raise --max-workers");
  }
  Invite(header.worker, header.incarnation, hello.batch);
}

void Server::Invite(const std::string& worker, uint64_t incarnation, uint32_t batch) {
  // A late Hello of an earlier start must not stand in the way of the present one.
  std::vector<Candidate>& candidates = candidates_[worker];
  std::erase_if(candidates, [&](const Candidate& c) { return c.incarnation == incarnation; });
  if (candidates.size() >= kMostCandidates) candidates.erase(candidates.begin());
  const int64_t first = finished() || WouldJoinRound(worker) ? open_ : open_ + 1;
  candidates.push_back({.incarnation = incarnation,
                        .batch = batch,
                        .ticket = ++last_ticket_,
                        .first_round = first,
                        .invited = listening_ns_});
  net::Welcome welcome = setting_.welcome;
  welcome.ticket = last_ticket_;
  welcome.first_round = first;
  Send(worker, incarnation, open_, std::move(welcome));
}

void Server::Handle(const net::Header& header, const net::Plan& plan) {
  if (header.epoch != setting_.epoch) {
    return Refuse(header, {}, Reason::kStaleEpoch, "the server has started again since");
  }
  const Candidate* candidate = FindCandidate(header);
  if (candidate != nullptr && candidate->ticket == plan.ticket) {
    const Candidate confirmed = *candidate;
    candidates_.erase(header.worker);
    Confirm(header.worker, confirmed);
  } else {
    if (candidate != nullptr && candidate->ticket > plan.ticket &&
        !(members_.contains(header.worker) && members_.at(header.worker).ticket == plan.ticket)) {
      // The Welcome with the newer ticket was lost, or is on the way.
      return Refuse(header, {}, Reason::kUnknownWorker, "say Hello first");
    }
    const Member* known = Known(header, {});
    if (known == nullptr || known->ticket != plan.ticket) return;
  }
  Member& member = members_.at(header.worker);
  member.next_ends.clear();
  for (const uint64_t end : plan.ends) {
    if (static_cast<int64_t>(end) < floats()) member.next_ends.push_back(static_cast<int64_t>(end));
  }
  member.next_ends.push_back(floats());
  if (header.round <= member.wanted) return;  // only other cuts, or said twice
  member.ends = member.next_ends;
  member.wanted = header.round;
  if (header.round == open_ || (header.round < open_ && setting_.shards == 1)) {
    const bool has = plan.has_parameters && header.round == open_;
    member.wanted = open_;
    if (!has) QueueVersion(member, open_);
  } else if (header.round == open_ + 1) {
    QueueReleased(member, {0, floats()});
  } else if (header.round == open_ - 1 && older_whole_ && closed_ == 0) {
    // Another server of the job is still at that round.
    QueueVersion(member, open_ - 1);
  } else {
    Refuse(header, {}, Reason::kStaleRound,
           "round " + std::to_string(header.round) + " cannot be had; round " +
               std::to_string(open_) + " is open");
  }
  Recount();
  Advance();
  Flush(header.worker, member);
}

void Server::Handle(const net::Header& header, const net::Segment& segment) {
  const SegmentId id{segment.ticket, segment.sequence};
  Member* known = Known(header, id);
  if (known == nullptr) return;
  Member& member = *known;
  // From before it joined anew, or after, with its Plan still on the way: it will send it again.
  if (segment.ticket != member.ticket) return;
  const auto refuse = [&](Reason reason, std::string detail) {
    Refuse(header, id, reason, std::move(detail));
  };
  const auto acknowledge = [&] {
    member.acks.sequences.push_back(segment.sequence);
    member.acks.arrived_ns.push_back(parts_.clock.NowNs());
  };
  if (segment.last_unit > static_cast<uint32_t>(units_.last) ||
      segment.first_unit < static_cast<uint32_t>(units_.first)) {
    return refuse(Reason::kShapeMismatch,
                  "units " + std::to_string(segment.first_unit) + " to " +
                      std::to_string(segment.last_unit) + " are not all among this server's, " +
                      std::to_string(units_.first) + " to " + std::to_string(units_.last));
  }
  const net::FloatRange units = parts_.layout.Units(static_cast<int>(segment.first_unit),
                                                    static_cast<int>(segment.last_unit));
  if (segment.total != static_cast<uint64_t>(units.size()) * sizeof(float)) {
    return refuse(Reason::kShapeMismatch,
                  "units " + std::to_string(segment.first_unit) + " to " +
                      std::to_string(segment.last_unit) + " have " +
                      std::to_string(units.size() * static_cast<int64_t>(sizeof(float))) +
                      " bytes, not " + std::to_string(segment.total));
  }
  if (segment.data.size() > setting_.welcome.segment_bytes) {
    return refuse(Reason::kTooLarge, "a segment of this job has at most " +
                                         std::to_string(setting_.welcome.segment_bytes) +
                                         " bytes of data");
  }
  const int64_t begin =
      units.begin - part_.begin + static_cast<int64_t>(segment.offset / sizeof(float));
  const net::FloatRange range{begin,
                              begin + static_cast<int64_t>(segment.data.size() / sizeof(float))};
  if (header.round > open_) {
    return refuse(Reason::kFutureRound, "round " + std::to_string(open_) + " is open");
  }
  // Slices that have this worker's copy, and slices that still take it.
  int had = 0;
  int open = 0;
  for (int slice = slices_.At(range.begin);
       slice < slices_.count() && slices_[slice].begin < range.end; ++slice) {
    if (header.round == open_ && !slice_[static_cast<size_t>(slice)].closed) {
      ++open;
    } else if (WasApplied(header.round, slice, header.worker)) {
      ++had;
    }
  }
  if (had == 0 && (open == 0 || !member.in_round)) {
    return refuse(Reason::kStaleRound, "round " + std::to_string(header.round) +
                                           " was closed without it; round " +
                                           std::to_string(open_) + " is open");
  }
  if (open == 0 || !member.in_round || member.delivery.Has(range)) {
    ++counts_.segments_doubled;
    acknowledge();
    return Flush(header.worker, member);
  }
  const std::span<const float> floats = AsFloats(segment.data, scratch_);
  if (!AllFinite(floats)) {
    const auto bad = std::find_if_not(floats.begin(), floats.end(),
                                      [](float f) { return AllFinite(std::span(&f, 1)); });
    const int unit = parts_.layout.UnitAt(part_.begin + range.begin + (bad - floats.begin()));
    DropFromRound(member);
    refuse(Reason::kNonFinite, "a gradient of unit '" +
                                   parts_.layout.units()[static_cast<size_t>(unit)].name +
                                   "' is not a finite number; the round goes on without it");
    return Advance();
  }
  if (setting_.max_norm > 0) {
    for (int unit = static_cast<int>(segment.first_unit);
         unit <= static_cast<int>(segment.last_unit); ++unit) {
      const net::FloatRange own = parts_.layout.Parameters(unit);
      const int64_t from = std::max(own.begin - part_.begin, range.begin);
      const int64_t to = std::min(own.end - part_.begin, range.end);
      if (from >= to) continue;
      double squares = 0;  // of what is not there, and counted, already
      member.delivery.ForMissing({from, to}, [&](net::FloatRange part) {
        squares += SumOfSquares(floats.subspan(static_cast<size_t>(part.begin - range.begin),
                                               static_cast<size_t>(part.size())));
      });
      member.delivery.squares += squares;
    }
    if (member.delivery.squares > setting_.max_norm * setting_.max_norm) {
      DropFromRound(member);
      refuse(Reason::kNorm, "the gradients' norm is beyond " + std::to_string(setting_.max_norm) +
                                "; the round goes on without them");
      return Advance();
    }
  }
  ++counts_.segments_taken;
  counts_.bytes_taken += static_cast<int64_t>(segment.data.size());
  for (const int slice : member.delivery.Take(range, segment.data)) {
    ++slice_[static_cast<size_t>(slice)].complete;
  }
  acknowledge();
  Flush(header.worker, member);
  Advance();
}

void Server::Handle(const net::Header& header, const net::Ack& ack) {
  Member* member = Known(header, {});
  if (member == nullptr || ack.ticket != member->ticket) return;
  const int64_t now = parts_.clock.NowNs();
  for (const uint64_t sequence : ack.sequences) member->sender.Acknowledge(sequence, now);
  member->last_taken = listening_ns_;
  Flush(header.worker, *member);
}

void Server::Handle(const net::Header& header, const net::Heartbeat&) { Known(header, {}); }

void Server::Handle(const net::Header& header, const net::Goodbye& goodbye) {
  const auto member = members_.find(header.worker);
  if (member == members_.end() || member->second.gone ||
      member->second.incarnation != header.incarnation) {
    return;  // of an earlier start
  }
  Gone(header.worker,
       goodbye.kind == net::GoodbyeKind::kDied ? "its connection broke" : "it said goodbye");
  Advance();
}

template <typename Other>
void Server::Handle(const net::Header&, const Other&) {}  // telemetry is for those who watch

Server::Candidate* Server::FindCandidate(const net::Header& header) {
  const auto at = candidates_.find(header.worker);
  if (at == candidates_.end()) return nullptr;
  for (Candidate& candidate : at->second) {
    if (candidate.incarnation == header.incarnation) return &candidate;
  }
  return nullptr;
}

Server::Member* Server::Known(const net::Header& header, SegmentId segment) {
  if (quarantined_.contains(header.worker)) {
    Refuse(header, segment, Reason::kQuarantined, "this worker is not listened to any more");
    return nullptr;
  }
  if (header.epoch != setting_.epoch) {
    Refuse(header, segment, Reason::kStaleEpoch, "the server has started again since");
    return nullptr;
  }
  const auto at = members_.find(header.worker);
  const bool is_member =
      at != members_.end() && !at->second.gone && at->second.incarnation == header.incarnation;
  if (!is_member && FindCandidate(header) != nullptr) return nullptr;  // its Plan is on the way
  if (at == members_.end() || at->second.gone) {
    if (finished() && setting_.shards == 1) {
      SayDone(header.worker, header.incarnation);
      return nullptr;
    }
    Refuse(header, segment, Reason::kUnknownWorker, "say Hello first");
    return nullptr;
  }
  if (at->second.incarnation != header.incarnation) {
    Refuse(header, segment, Reason::kSuperseded,
           "another process has joined as '" + header.worker + "' since");
    return nullptr;
  }
  Member& member = at->second;
  member.last_heard = listening_ns_;
  member.told_done = false;  // it is still there, so it has not heard it
  return &member;
}

void Server::Refuse(const net::Header& header, SegmentId segment, Reason reason,
                    std::string detail) {
  Count(header.worker, reason);
  Send(header.worker, header.incarnation, open_,
       net::Nack{.ticket = segment.ticket,
                 .sequence = segment.sequence,
                 .refusal = {reason, std::move(detail)}});
}

void Server::Count(const std::string& worker, Reason reason) {
  ++counts_.refused;
  if (refused_.size() >= kMostStrangers && !refused_.contains(worker)) return;
  auto& counts = refused_[worker];
  ++counts[static_cast<size_t>(reason)];
  if (!IsOffence(reason)) return;
  int64_t offences = 0;
  for (int i = 1; i < net::kReasons; ++i) {
    if (IsOffence(static_cast<Reason>(i))) offences += counts[static_cast<size_t>(i)];
  }
  if (offences < kQuarantineAfter || !quarantined_.insert(worker).second) return;
  candidates_.erase(worker);
  parts_.log.Warning("worker '" + worker + "' is not listened to any more: " +
                     std::to_string(offences) + " messages that no honest worker sends");
  if (members_.contains(worker)) {
    DropFromRound(members_.at(worker));
    members_.at(worker).gone = true;
  }
}

// ---- who takes part

int Server::Needed() const {
  return begun_ ? setting_.quorum : std::max(setting_.quorum, setting_.workers);
}

// Members, and those who were invited and may yet come.
int Server::PlacesTaken() {
  const int64_t patience = setting_.welcome.worker_timeout_ms * kMs;
  // A member's invitation stands: the member may have heard of it and have forgotten the one
  // before.
  std::erase_if(candidates_, [&](const auto& c) {
    return !members_.contains(c.first) && listening_ns_ - c.second.back().invited > patience;
  });
  int taken = static_cast<int>(members_.size());
  for (const auto& [name, candidates] : candidates_) taken += members_.contains(name) ? 0 : 1;
  return taken;
}

bool Server::WouldJoinRound(const std::string& worker) const {
  const auto at = members_.find(worker);
  if (at != members_.end() && at->second.in_round) return true;
  return in_round_ < Needed();
}

void Server::Confirm(const std::string& worker, const Candidate& candidate) {
  // One that was told to wait for the next round does.
  const bool joins = WouldJoinRound(worker) && candidate.first_round <= open_;
  const auto [at, is_new] = members_.try_emplace(
      worker, slices_,
      net::SegmentSender::Setting{
          .window_bytes = static_cast<int64_t>(setting_.welcome.window_bytes),
          .segment_bytes = static_cast<int64_t>(setting_.welcome.segment_bytes)});
  Member& member = at->second;
  member.incarnation = candidate.incarnation;
  member.batch = candidate.batch;
  member.ticket = candidate.ticket;
  member.gone = false;
  member.told_done = false;
  member.wanted = -1;
  member.acks = {};
  member.sender.ForgetAll();
  member.sender.LimitSegments(payload_limit_ - net::kEnvelopeBytes);
  // Nothing of the open round may close before it has computed that round anew, or it would be sent
  // the next version too early.
  member.delivery.StartRound();
  member.last_heard = listening_ns_;
  member.last_taken = listening_ns_;
  member.in_round = joins && !finished();
  parts_.log.Info("worker '" + worker + (is_new ? "' joined" : "' is back") +
                  (joins ? "" : ", from the next round on"));
}

bool Server::Delivered(const Member& member) const {
  for (int slice = 0; slice < slices_.count(); ++slice) {
    if (!slice_[static_cast<size_t>(slice)].closed && !member.delivery.Complete(slice)) {
      return false;
    }
  }
  return true;
}

void Server::Gone(const std::string& worker, const std::string& why) {
  Member& member = members_.at(worker);
  const bool counts = member.in_round && Delivered(member);
  parts_.log.Info("worker '" + worker + "' left: " + why +
                  (counts ? "; its gradients of this round count" : ""));
  if (counts) {
    member.gone = true;
    member.sender.ForgetAll();
    return;
  }
  members_.erase(worker);
  Recount();
}

void Server::DropFromRound(Member& member) {
  member.in_round = false;
  member.delivery.StartRound();
  Recount();
}

void Server::Recount() {
  in_round_ = 0;
  for (Slice& slice : slice_) slice.complete = 0;
  for (const auto& [name, member] : members_) {
    if (!member.in_round) continue;
    ++in_round_;
    for (int slice = 0; slice < slices_.count(); ++slice) {
      if (member.delivery.Complete(slice)) ++slice_[static_cast<size_t>(slice)].complete;
    }
  }
  if (!running_ && in_round_ >= Needed() && !finished()) {
    running_ = true;
    begun_ = true;
    round_began_ns_ = parts_.clock.NowNs();
  }
}

bool Server::WasApplied(int64_t round, int slice, const std::string& worker) const {
  const auto has = [&](const std::vector<Contribution>& applied) {
    return std::any_of(applied.begin(), applied.end(),
                       [&](const Contribution& c) { return c.worker == worker; });
  };
  if (round == open_) return has(slice_[static_cast<size_t>(slice)].applied);
  for (const PastRound& past : past_) {
    if (past.round == round) return has(past.applied[static_cast<size_t>(slice)]);
  }
  return false;
}

// ---- rounds

bool Server::Blocked() const { return checkpointing_ || (appends_ > 0 && appends_round_ < open_); }

// A worker that has seen what then was lost can go back, but not if the other servers of its job
// cannot, nor if it has gone home.
bool Server::ReleasesWhenKept() const {
  return setting_.shards > 1 || open_ + 1 == setting_.welcome.rounds;
}

void Server::Advance() {
  // Each turn closes a round at most; the next one may be complete from the journal alone.
  while (failure_.ok() && !finished() && running_ && in_round_ >= Needed() && !Blocked()) {
    for (int slice = 0; slice < slices_.count() && failure_.ok(); ++slice) {
      Slice& s = slice_[static_cast<size_t>(slice)];
      if (!s.closed && s.complete == in_round_) Close(slice);
    }
    if (closed_ < slices_.count()) return;
    if (ReleasesWhenKept() &&
        !std::all_of(slice_.begin(), slice_.end(), [](const Slice& s) { return s.kept; })) {
      return;
    }
    CommitRound();
  }
}

void Server::Close(int slice) {
  Slice& s = slice_[static_cast<size_t>(slice)];
  const net::FloatRange range = slices_[slice];
  std::vector<Summand> summands;
  for (const auto& [name, member] : members_) {
    if (!member.in_round) continue;
    assert(member.delivery.Complete(slice));
    summands.push_back({.floats = member.delivery.floats(), .weight = member.batch});
    s.applied.push_back({.worker = name, .weight = member.batch});
  }
  if (closed_ == 0) {
    older_whole_ = false;
    for (auto& [name, member] : members_) member.sender.ForgetBefore(open_);
  }
  const std::span<float> mean =
      std::span(mean_).subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
  const bool finite = aggregator_.Aggregate(
      StepOf(open_), range, summands, mean,
      {.current = values_[which_], .next = values_[1 - which_], .state = state_}, parts_.parallel);
  if (!finite) {
    failure_ = Status::InvalidInput(
        "round " + std::to_string(open_) +
        " would make the model infinite; what was kept before is whole: start again with a lower "
        "learning rate");
    return;
  }
  s.closed = true;
  ++closed_;
  ++appends_;
  appends_round_ = open_;
  parts_.keeper.Append({.round = open_, .slice = range, .mean = mean, .contributions = s.applied});
  if (!ReleasesWhenKept()) Release(slice);
}

void Server::Release(int slice) {
  released_.Add(slices_[slice]);
  const net::FloatRange all{0, floats()};
  if (setting_.whole_versions && !released_.Covers(all)) return;
  const net::FloatRange news = setting_.whole_versions ? all : slices_[slice];
  for (auto& [name, member] : members_) {
    if (member.gone || member.wanted < open_) continue;  // it still wants something earlier
    if (member.wanted == open_) {
      // The first it gets of the next version; others may have been closed before it came.
      member.wanted = open_ + 1;
      member.ends = member.next_ends;
      QueueReleased(member, all);
    } else {
      QueueReleased(member, news);
    }
    Flush(name, member);
  }
}

void Server::QueueReleased(Member& member, net::FloatRange news) {
  if (setting_.whole_versions && !released_.Covers({0, floats()})) return;
  auto end = std::upper_bound(member.ends.begin(), member.ends.end(), news.begin);
  for (; end != member.ends.end(); ++end) {
    const net::FloatRange part{end == member.ends.begin() ? 0 : *(end - 1), *end};
    if (part.begin >= news.end) break;
    if (!released_.Covers(part)) continue;
    member.sender.Queue(
        {.round = open_ + 1, .range = {part.begin + part_.begin, part.end + part_.begin}}, 0);
  }
}

void Server::CommitRound() {
  PastRound past{.round = open_};
  for (Slice& s : slice_) {
    past.applied.push_back(std::move(s.applied));
    s = {};
  }
  for (const Contribution& c : past.applied.front()) {
    const auto member = members_.find(c.worker);
    if (member != members_.end()) ++member->second.contributions;
  }
  past_.push_front(std::move(past));
  if (past_.size() > kPastRounds) past_.pop_back();
  ++open_;
  which_ = 1 - which_;
  closed_ = 0;
  released_.Clear();
  older_whole_ = true;
  for (auto& [name, member] : members_) member.sender.ForgetBefore(open_);
  if (finished()) {
    finished_ns_ = parts_.clock.NowNs();
    running_ = false;
    std::erase_if(members_, [](const auto& m) { return m.second.gone; });
    for (auto& [name, member] : members_) {
      member.in_round = false;
      member.last_taken = listening_ns_;
    }
    Recount();
    checkpoint_wanted_ = true;
    return StartCheckpoint();
  }
  if (open_ - checkpoint_round_ >= setting_.checkpoint_every) checkpoint_wanted_ = true;
  OpenRound();
}

void Server::OpenRound() {
  running_ = false;
  std::erase_if(members_, [](const auto& m) { return m.second.gone; });
  for (auto& [name, member] : members_) {
    member.in_round = true;
    member.delivery.StartRound();
  }
  Recount();
  if (checkpoint_wanted_) StartCheckpoint();
}

void Server::HandleDeadline(int64_t now) {
  if (setting_.round_deadline_ns == 0 || !running_ ||
      now - round_began_ns_ < setting_.round_deadline_ns) {
    return;
  }
  int complete = 0;
  for (const auto& [name, member] : members_) {
    if (member.in_round && Delivered(member)) ++complete;
  }
  if (complete < setting_.quorum || complete == in_round_) return;
  for (auto& [name, member] : members_) {
    if (!member.in_round || Delivered(member)) continue;
    parts_.log.Info("worker '" + name + "' is late for round " + std::to_string(open_));
    member.in_round = false;
    member.delivery.StartRound();
  }
  Recount();
  Advance();
}

void Server::StartCheckpoint() {
  if (checkpointing_) return;
  // In the middle of a round the state belongs to no version.
  const bool all_closed = closed_ == slices_.count();
  if (closed_ > 0 && !all_closed) return;
  checkpoint_wanted_ = false;
  checkpointing_ = true;
  const int version = all_closed ? 1 - which_ : which_;
  Snapshot snapshot{.round = open_ + (all_closed ? 1 : 0),
                    .values = values_[static_cast<size_t>(version)],
                    .optimizer_state = state_};
  if (setting_.shards > 1 && (all_closed || older_whole_)) {
    snapshot.older_values = values_[static_cast<size_t>(1 - version)];
  }
  parts_.keeper.Checkpoint(snapshot);
}

void Server::PollKeeper() {
  for (const KeptEvent& event : parts_.keeper.Poll()) {
    const bool is_append = event.kind == KeptEvent::Kind::kAppended;
    if (is_append) {
      --appends_;
    } else {
      checkpointing_ = false;
    }
    if (!event.status.ok()) {
      if (disk_problem_.empty()) {
        parts_.log.Warning("CHECKPOINT_FAILED: " + event.status.message() +
                           (!ReleasesWhenKept()
                                ? "; training goes on, and what was kept before stays"
                                : "; the job waits until there is room, and what was kept stays"));
      }
      disk_problem_ = event.status.message();
      checkpoint_wanted_ = true;
      checkpoint_retry_ns_ = parts_.clock.NowNs() + kDiskRetryNs;
    } else if (!is_append) {
      if (!disk_problem_.empty()) parts_.log.Info("the state is kept again");
      disk_problem_.clear();
      checkpoint_round_ = event.round;
    }
    if (!event.status.ok()) continue;
    if (is_append && event.round == open_) Kept(slices_.At(event.slice.begin));
    if (!is_append && event.round == open_ + 1) {
      for (int slice = 0; slice < slices_.count(); ++slice) Kept(slice);
    }
  }
}

void Server::Kept(int slice) {
  Slice& s = slice_[static_cast<size_t>(slice)];
  const bool was_kept = std::exchange(s.kept, true);
  if (ReleasesWhenKept() && s.closed && !was_kept) Release(slice);
}

// ---- time and the connection

void Server::Tick() {
  if (!failure_.ok()) return;
  const int64_t now = parts_.clock.NowNs();
  const int64_t heartbeat = setting_.welcome.heartbeat_ms * kMs;
  // While the broker says nothing, a worker's silence says nothing either.
  const bool heard = connected_ && now - parts_.transport.last_alive_ns() < 2 * heartbeat;
  if (heard) listening_ns_ += std::min(now - last_tick_ns_, heartbeat);
  last_tick_ns_ = now;

  PollKeeper();
  const int64_t patience = setting_.welcome.worker_timeout_ms * kMs;
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
}

int64_t Server::next_tick_ns() const {
  if (!failure_.ok()) return INT64_MAX;
  int64_t next = next_heartbeat_ns_;
  if (running_ && setting_.round_deadline_ns > 0) {
    const int64_t deadline = round_began_ns_ + setting_.round_deadline_ns;
    // Once it has passed, the next delivery decides.
    if (deadline > last_tick_ns_) next = std::min(next, deadline);
  }
  for (const auto& [name, member] : members_) {
    next = std::min(next, member.sender.next_retry_ns());
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
  parts_.log.Warning("no broker: " + why.message());
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
  if (!connected_ || member.gone) return;
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
