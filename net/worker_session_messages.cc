// SPDX-License-Identifier: Apache-2.0
// What the worker does with each message of a server.
#include "net/worker_session.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <variant>

#include "net/codec/codec.h"

namespace weft::net {
namespace {

// A server's slices, or fewer: no more than a Plan may have. Cutting elsewhere only costs time, so
// ends that do not fit are no reason to stay away.
std::vector<int64_t> UsableEnds(const std::vector<uint64_t>& ends, int64_t floats) {
  std::vector<int64_t> usable;
  const size_t step = ends.size() / kPlanEnds + 1;
  for (size_t i = step - 1; i < ends.size(); i += step) {
    const auto end = static_cast<int64_t>(std::min<uint64_t>(ends[i], INT64_MAX));
    if (end > (usable.empty() ? 0 : usable.back()) && end < floats) usable.push_back(end);
  }
  usable.push_back(floats);
  return usable;
}

}  // namespace

void WorkerSession::Received(const std::string& topic, Payload payload, bool retained) {
  if (retained || left_ || !failure_.ok()) return;
  const std::optional<TopicParts> parts = ParseTopic(topic);
  if (!parts || parts->lane != Lane::kPull || parts->worker != setting_.worker) return;
  const auto at = std::find_if(links_.begin(), links_.end(),
                               [&](const Link& l) { return l.level == parts->job_level; });
  if (at == links_.end()) return;
  Link& link = *at;

  std::variant<Message, Refusal> decoded = Decode(payload.bytes());
  if (const auto* refusal = std::get_if<Refusal>(&decoded)) {
    return Complain("a message of the server was not understood: " + refusal->detail);
  }
  const Message& message = std::get<Message>(decoded);
  const Header& header = message.header;
  if (header.job != setting_.job || header.worker != setting_.worker ||
      header.shard != link.shard || header.shards != setting_.shards ||
      header.incarnation != setting_.incarnation || header.epoch < link.epoch) {
    return;  // to someone who was here before us, or from a server that was
  }
  deaf_.Heard(clock_.NowNs());
  if (header.epoch == link.epoch) {
    link.last_heard_ns = clock_.NowNs();
    // Segments are of a round, everything else is said in one.
    if (!std::holds_alternative<Segment>(message.body)) {
      if (header.round > link.open_round) {
        link.open_round = header.round;
        link.progress_ns = link.last_heard_ns;
      }
    }
  }
  std::visit([&](const auto& body) { Handle(link, message, body); }, message.body);
  Flush();
}

void WorkerSession::Handle(Link& link, const Message& message, const Welcome& welcome) {
  if (message.header.epoch == link.epoch && welcome.ticket < link.ticket) return;
  if (!Fits(welcome)) return;
  const bool anew = message.header.epoch != link.epoch || welcome.ticket != link.ticket;
  // An answer to an earlier question: to start over, it must forget what it has sent.
  if (!anew && (link.joined || start_over_)) return;
  if (!job_) job_ = welcome;
  if (message.header.epoch != link.epoch) ForgetUncommitted(link, message.header.round);
  link.epoch = message.header.epoch;
  link.ticket = welcome.ticket;
  link.open_round = welcome.first_round;
  link.first_unit = static_cast<int>(welcome.first_unit);
  link.last_unit = static_cast<int>(welcome.last_unit);
  link.slice_ends = UsableEnds(welcome.slice_ends, FloatsOf(link).size());
  link.heartbeat_ms = welcome.heartbeat_ms;
  link.timeout_ms = welcome.worker_timeout_ms;
  if (!link.sender) {
    // The way is that of all gradients, whichever server they are for.
    link.sender.emplace(
        SegmentSender::Setting{
            .window_bytes =
                static_cast<int64_t>(std::min<uint64_t>(welcome.window_bytes, INT64_MAX)),
            .segment_bytes =
                static_cast<int64_t>(std::min<uint64_t>(welcome.segment_bytes, INT64_MAX)),
            .least_credit_bytes =
                SegmentSender::LeastCredit(layout_.floats() * static_cast<int64_t>(sizeof(float)))},
        way_up_);
    link.sender->LimitSegments(payload_limit_ - kEnvelopeBytes);
  }
  link.joined = true;
  link.last_heard_ns = clock_.NowNs();
  link.next_heartbeat_ns = link.last_heard_ns + link.heartbeat_ms * kNsPerMs;
  link.hello_wait_ns = kFirstHelloWaitNs;
  if (!anew) return;  // we had only lost sight of each other
  link.planned = false;
  link.acks = {};
  link.clock.Reset();
  JoinedAnew(link);
}

void WorkerSession::Handle(Link& link, const Message&, const Refuse& refuse) {
  if (link.joined) return;
  Fail(Refused("this worker", refuse.refusal));
}

void WorkerSession::Handle(Link& link, const Message& message, const Segment& segment) {
  if (message.header.epoch > link.epoch) return Rejoin(link, true);
  // What was sent under an earlier ticket is sent anew, if it still is what we want.
  if (!link.joined || segment.kind != SegmentKind::kParameters) return;
  if (segment.ticket != link.ticket) return;
  // As unsigned numbers: what would be a negative unit is none of ours either.
  if (segment.last_unit > static_cast<uint32_t>(link.last_unit) ||
      segment.first_unit < static_cast<uint32_t>(link.first_unit)) {
    return;
  }
  const FloatRange units =
      layout_.Units(static_cast<int>(segment.first_unit), static_cast<int>(segment.last_unit));
  if (segment.total != static_cast<uint64_t>(units.size()) * sizeof(float)) return;
  if (!ChecksumHolds(segment)) return;  // it will come again
  const int64_t round = message.header.round;
  if (round > pull_round_ && !MayGoOnTo(round)) return;  // it will come again
  link.acks.sequences.push_back(segment.sequence);
  link.acks.arrived_ns.push_back(clock_.NowNs());
  if (round >= link.planned_round) link.plan_answered = true;
  if (round < pull_round_) return;
  if (round > pull_round_) StartPull(round);
  link.progress_ns = clock_.NowNs();
  const int64_t begin = units.begin + static_cast<int64_t>(segment.offset / sizeof(float));
  Arrived({.up = false,
           .begin = begin,
           .bytes = static_cast<int64_t>(segment.data.size()),
           .at_ns = link.progress_ns,
           .heard_ns = link.progress_ns,
           .follows = segment.follows});
  const FloatRange range{begin, begin + static_cast<int64_t>(segment.data.size() / sizeof(float))};
  have_.Fill(range, [&](FloatRange part) {
    std::memcpy(values_.data() + part.begin,
                segment.data.data() + static_cast<size_t>(part.begin - begin) * sizeof(float),
                static_cast<size_t>(part.size()) * sizeof(float));
  });
}

void WorkerSession::Handle(Link& link, const Message& message, const Ack& ack) {
  if (message.header.epoch != link.epoch || ack.ticket != link.ticket || !link.sender) return;
  const int64_t now = clock_.NowNs();
  for (size_t i = 0; i < ack.sequences.size(); ++i) {
    int64_t arrived = ack.arrived_ns.empty() ? now : ack.arrived_ns[i];
    // Each server has a clock of its own.
    if (links_.size() > 1) arrived = link.clock.OurTime(arrived, now);
    const auto segment = link.sender->Acknowledge(ack.sequences[i], arrived, now);
    if (!segment) continue;
    Arrived({.up = true,
             .begin = segment->range.begin,
             .bytes = segment->range.size() * static_cast<int64_t>(sizeof(float)),
             .at_ns = arrived,
             .heard_ns = now,
             .sent_ns = segment->sent_ns,
             .follows = segment->follows});
  }
}

void WorkerSession::Handle(Link& link, const Message& message, const Nack& nack) {
  const Refusal& refusal = nack.refusal;
  if (nack.sequence != 0 && nack.ticket != link.ticket) return;  // of what we have forgotten
  switch (refusal.reason) {
    case Reason::kStaleEpoch:
    case Reason::kUnknownWorker:
      // Of the server we know, or of one that has started since.
      if (link.joined || message.header.epoch > link.epoch) Rejoin(link, true);
      return;
    case Reason::kSuperseded:
      if (!link.plan_answered) return Rejoin(link, false);        // we are not in yet ourselves
      if (nack.ticket != 0 && nack.ticket < link.ticket) return;  // and now we are
      Fail(Status::InvalidInput("another process has joined job '" + setting_.job + "' as '" +
                                setting_.worker + "'; give each worker a name of its own"));
      return;
    case Reason::kFutureRound:
      return Rejoin(link, false);
    case Reason::kBadChecksum:
      return;  // it is sent again
    case Reason::kStaleRound:
      if (nack.sequence == 0) {  // our Plan came too late
        start_over_ = true;
        for (Link& each : links_) Rejoin(each, false);
        return;
      }
      if (link.sender) link.sender->Refused(nack.sequence);
      return;
    case Reason::kNonFinite:
    case Reason::kNorm:
      if (link.sender) link.sender->Refused(nack.sequence);
      break;
    default:
      Fail(Refused("a message", refusal));
  }
  Complain(std::string(Name(refusal.reason)) + ": " + refusal.detail);
}

void WorkerSession::Handle(Link& link, const Message& message, const Heartbeat&) {
  if (message.header.epoch > link.epoch && link.joined) Rejoin(link, true);
}

void WorkerSession::Handle(Link& link, const Message& message, const Goodbye& goodbye) {
  if (goodbye.kind == GoodbyeKind::kDone) {
    link.done = true;
  } else if (message.header.epoch == link.epoch) {
    Rejoin(link, false);  // it will be back
  }
}

template <typename Other>
void WorkerSession::Handle(Link&, const Message&, const Other&) {}  // not for a worker

}  // namespace weft::net
