// SPDX-License-Identifier: Apache-2.0
// What the server does with each message that workers send, and what it answers.
#include "cloud_ps/server.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "cloud_ps/number_checks.h"
#include "core/hex_text.h"

namespace weft::ps {
namespace {

using net::Reason;

constexpr int64_t kQuarantineAfter = 100;  // refusals that no honest worker gets
constexpr size_t kMostStrangers = 10'000;  // whose refusals are counted
constexpr size_t kMostCandidates = 4;      // of one name

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

}  // namespace

void Server::Received(const std::string& topic, net::Payload payload, bool retained) {
  if (!failure_.ok() || Floods(topic, payload)) return;
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
  deaf_.Heard(parts_.clock.NowNs());
  const net::Message& message = std::get<net::Message>(looked);
  std::visit([&](const auto& body) { Handle(message.header, body); }, message.body);
}

bool Server::Floods(const std::string& topic, const net::Payload& payload) {
  const std::optional<net::TopicParts> from = net::ParseTopic(topic);
  if (!from) return false;
  const WorkerBudget::Verdict verdict =
      budget_.Take(from->worker, static_cast<int64_t>(payload.size()), open_, parts_.clock.NowNs());
  if (verdict == WorkerBudget::Verdict::kRead) return false;
  const std::string worker(from->worker);
  Count(worker, Reason::kOverBudget);
  if (verdict == WorkerBudget::Verdict::kTooMuch) return true;
  const std::string detail =
      "more than " + std::to_string(budget_.allowance().bytes / 1'000'000) + " MB or " +
      std::to_string(budget_.allowance().messages) +
      " messages in a round, or in ten seconds of it: what is too much is not read";
  parts_.log.Warning("worker '" + worker + "' sends " + detail +
                     "; the broker's guard, where it has one, shuts it out for a minute, and "
                     "`weft cluster revoke " +
                     worker + "` for good");
  Send(worker, 0, open_, net::Nack{.refusal = {Reason::kOverBudget, detail}});
  if (connected_) {
    parts_.transport.Publish(net::kShutOutTopic,
                             net::Payload::CopyOf(std::as_bytes(std::span(worker))));
  }
  return true;
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
  for (size_t i = 0; i < ack.sequences.size(); ++i) {
    member->sender.Acknowledge(ack.sequences[i], ack.arrived_ns.empty() ? now : ack.arrived_ns[i],
                               now);
  }
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
    // By whom, if it is about no segment: whoever has joined after that one has heard it too late.
    if (segment.sequence == 0) segment.ticket = at->second.ticket;
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
  if (const auto member = members_.find(worker); member != members_.end()) {
    DropFromRound(member->second);
    member->second.gone = true;
    member->second.sender.ForgetAll();
  }
}

}  // namespace weft::ps
