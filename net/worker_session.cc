// SPDX-License-Identifier: Apache-2.0
#include "net/worker_session.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/hex_text.h"
#include "net/codec/codec.h"

namespace weft::net {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kFirstHelloWaitNs = 500 * kMs;
constexpr int64_t kMostHelloWaitNs = 8000 * kMs;
constexpr size_t kMostAcks = 64;  // that wait for company
constexpr size_t kMostProblems = 100;
constexpr size_t kMostArrivals = 4096;
constexpr int64_t kProgressNs = 3000 * kMs;  // without any, a server is asked anew

}  // namespace

WorkerSession::WorkerSession(const Setting& setting, const WireLayout& layout, Transport& transport,
                             const Clock& clock)
    : setting_(setting),
      layout_(layout),
      transport_(transport),
      clock_(clock),
      rng_(setting.incarnation),
      values_(static_cast<size_t>(layout.floats()), 0.0f),
      gradients_(static_cast<size_t>(layout.floats()), 0.0f) {
  assert(IsName(setting.job) && IsName(setting.worker) && setting.shards > 0);
  for (int shard = 0; shard < setting.shards; ++shard) {
    links_.push_back({.shard = shard,
                      .level = JobLevel(setting.job, shard, setting.shards),
                      .hello_wait_ns = kFirstHelloWaitNs});
  }
}

// ---- the computing side

std::optional<WorkerSession::Attempt> WorkerSession::NextAttempt() const {
  if (pull_round_ < 0 || attempt_ == begun_ || !job_ || pull_round_ >= job_->rounds) {
    return std::nullopt;
  }
  return Attempt{attempt_, pull_round_};
}

void WorkerSession::Begin(const Attempt& attempt) {
  if (attempt.id == attempt_) begun_ = attempt.id;
}

WorkerSession::UnitState WorkerSession::Look(const Attempt& attempt, int unit) const {
  if (attempt.id != attempt_) return UnitState::kGone;
  FloatRange wanted = layout_.Units(unit, unit);
  // What was asked for as one segment is there when all of it is.
  const std::vector<int64_t>& ends = plan_.pull_ends;
  if (!ends.empty() && wanted.size() > 0) {
    const auto first = std::upper_bound(ends.begin(), ends.end(), wanted.begin);
    const auto last = std::lower_bound(ends.begin(), ends.end(), wanted.end);
    wanted = {first == ends.begin() ? 0 : *(first - 1), *last};
  }
  return have_.Covers(wanted) ? UnitState::kReady : UnitState::kWaiting;
}

std::span<const float> WorkerSession::Parameters(int unit) const {
  const FloatRange range = layout_.Parameters(unit);
  return std::span(values_).subspan(static_cast<size_t>(range.begin),
                                    static_cast<size_t>(range.size()));
}

std::span<const float> WorkerSession::Statistics(int unit) const {
  const FloatRange range = layout_.Statistics(unit);
  return std::span(values_).subspan(static_cast<size_t>(range.begin),
                                    static_cast<size_t>(range.size()));
}

void WorkerSession::Release(const Attempt& attempt, int unit, std::span<const float> gradients,
                            std::span<const float> statistics) {
  if (attempt.id != push_.attempt) {
    // Until here the gradients of the round before may have been needed again. Now that a whole
    // forward pass has been computed with what came of them, they are not.
    if (attempt.id != attempt_) return;
    StartPush(attempt);
  }
  if (!push_.alive) return;
  const FloatRange parameters = layout_.Parameters(unit);
  const FloatRange behind = layout_.Statistics(unit);
  assert(gradients.size() == static_cast<size_t>(parameters.size()));
  assert(statistics.size() == static_cast<size_t>(behind.size()));
  std::copy(gradients.begin(), gradients.end(), gradients_.begin() + parameters.begin);
  std::copy(statistics.begin(), statistics.end(), gradients_.begin() + behind.begin);
  push_.released[static_cast<size_t>(unit)] = true;
  for (Link& link : links_) {
    if (link.first_unit <= unit && unit <= link.last_unit && link.planned) {
      QueueReleased(link, layout_.Units(unit, unit));
    }
  }
  // A server that is ahead gave us the version before the one it has open; now we want that.
  for (Link& link : links_) {
    if (IsAhead(link, WantedRound())) PlanFor(link, WantedRound());
  }
}

bool WorkerSession::AllAnswered(const Attempt& attempt) const {
  if (!push_.alive || push_.attempt != attempt.id) return true;
  return std::all_of(push_.released.begin(), push_.released.end(), [](bool r) { return r; }) &&
         std::all_of(links_.begin(), links_.end(),
                     [](const Link& l) { return l.joined && l.planned && l.sender->idle(); });
}

void WorkerSession::Use(const TransferPlan& plan) {
  assert(plan.push_ends.empty() || plan.push_ends.back() == layout_.floats());
  assert(plan.pull_ends.empty() || plan.pull_ends.back() == layout_.floats());
  assert(plan.push_turns.empty() || plan.push_turns.size() == plan.push_ends.size());
  const bool same_pulls = plan.pull_ends == plan_.pull_ends;
  plan_ = plan;
  if (same_pulls) return;
  for (Link& link : links_) {
    if (link.joined && link.planned) SendPlan(link);
  }
}

void WorkerSession::TakeArrivals(std::vector<Arrival>& arrivals) {
  arrivals.insert(arrivals.end(), arrivals_.begin(), arrivals_.end());
  arrivals_.clear();
}

int64_t WorkerSession::round_trip_ns() const {
  int64_t longest = 0;
  for (const Link& link : links_) {
    if (link.sender) longest = std::max(longest, link.sender->round_trip_ns());
  }
  return longest;
}

void WorkerSession::Arrived(const Arrival& arrival) {
  ++(arrival.up ? traffic_.segments_up : traffic_.segments_down);
  (arrival.up ? traffic_.bytes_up : traffic_.bytes_down) += arrival.bytes;
  if (arrivals_.size() < kMostArrivals) arrivals_.push_back(arrival);
}

void WorkerSession::Report(const Telemetry& telemetry) {
  Send(links_.front(), Lane::kTelemetry, push_.round < 0 ? 0 : push_.round, telemetry);
}

void WorkerSession::Leave(const std::string& why) {
  if (left_) return;
  for (Link& link : links_) {
    Send(link, Lane::kControl, 0, Goodbye{.kind = GoodbyeKind::kLeaving, .detail = why});
  }
  left_ = true;
}

bool WorkerSession::joined() const {
  return std::all_of(links_.begin(), links_.end(), [](const Link& l) { return l.planned; });
}

bool WorkerSession::has_last_version() const {
  return job_ && pull_round_ >= job_->rounds && have_.Covers({0, layout_.floats()});
}

bool WorkerSession::done() const {
  // A server that has gone home may not have been heard.
  return has_last_version() ||
         std::all_of(links_.begin(), links_.end(), [](const Link& l) { return l.done; });
}

std::vector<std::string> WorkerSession::TakeProblems() { return std::exchange(problems_, {}); }

SegmentSender::Ledger WorkerSession::ledger() const {
  SegmentSender::Ledger sum;
  for (const Link& link : links_) {
    if (!link.sender) continue;
    const SegmentSender::Ledger& one = link.sender->ledger();
    sum.queued += one.queued;
    sum.sent_again += one.sent_again;
    sum.acknowledged += one.acknowledged;
    sum.refused += one.refused;
    sum.expired += one.expired;
  }
  return sum;
}

Payload WorkerSession::LastWill(const Setting& setting, int shard) {
  return Encode({.header = {.job = setting.job,
                            .shard = static_cast<uint16_t>(shard),
                            .shards = static_cast<uint16_t>(setting.shards),
                            .worker = setting.worker,
                            .incarnation = setting.incarnation},
                 .body = Goodbye{.kind = GoodbyeKind::kDied}});
}

// ---- time

void WorkerSession::Tick() {
  if (left_ || !failure_.ok()) return;
  const int64_t now = clock_.NowNs();
  if (links_.size() > 1) LookForOlder();
  for (Link& link : links_) {
    if (!connected_) continue;
    if (link.joined && now - link.last_heard_ns > link.timeout_ms * kMs) Rejoin(link, true);
    if (!link.joined) {
      if (now < link.next_hello_ns) continue;
      Send(link, Lane::kControl, 0,
           Hello{.model_hash = setting_.model_hash,
                 .batch = setting_.batch,
                 .software = setting_.software,
                 .start_over = start_over_ || !link.planned});
      // A quarter more or less, so that a thousand workers do not ask in step.
      link.next_hello_ns = now + link.hello_wait_ns * rng_.Between(750, 1250) / 1000;
      link.hello_wait_ns = std::min(2 * link.hello_wait_ns, kMostHelloWaitNs);
    } else if (now >= link.next_heartbeat_ns) {
      Send(link, Lane::kControl, std::max<int64_t>(pull_round_, 0), Heartbeat{});
      link.next_heartbeat_ns = now + link.heartbeat_ms * kMs;
      if (IsAhead(link, WantedRound())) {
        PlanFor(link, WantedRound());
      } else if (link.planned && !link.plan_answered) {
        SendPlan(link);  // it may have been lost
      }
    }
  }
  Flush();
}

int64_t WorkerSession::next_tick_ns() const {
  if (left_ || !connected_ || !failure_.ok()) return INT64_MAX;
  int64_t next = INT64_MAX;
  for (const Link& link : links_) {
    if (!link.joined) {
      next = std::min(next, link.next_hello_ns);
      continue;
    }
    next = std::min({next, link.next_heartbeat_ns, link.last_heard_ns + link.timeout_ms * kMs + 1});
    if (link.sender) next = std::min(next, link.sender->next_retry_ns());
  }
  return next;
}

// ---- the connection

void WorkerSession::Connected(const ConnectionLimits& limits) {
  connected_ = true;
  payload_limit_ = limits.payload_bytes;
  const int64_t now = clock_.NowNs();
  for (Link& link : links_) {
    link.last_heard_ns = now;      // it could not be heard before
    link.next_heartbeat_ns = now;  // and may have wondered about us
    link.next_hello_ns = now;
    link.hello_wait_ns = kFirstHelloWaitNs;
    if (link.sender) {
      link.sender->LimitSegments(payload_limit_ - kEnvelopeBytes);
      link.sender->SendAllAgain();
    }
  }
  Tick();
}

void WorkerSession::Disconnected(const Status&) { connected_ = false; }

void WorkerSession::PublishProblem(const std::string& topic, const Status& why) {
  if (problems_.size() < kMostProblems) problems_.push_back(topic + ": " + why.message());
}

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
    if (problems_.size() < kMostProblems) {
      problems_.push_back("a message of the server was not understood: " + refusal->detail);
    }
    return;
  }
  const Message& message = std::get<Message>(decoded);
  const Header& header = message.header;
  if (header.job != setting_.job || header.worker != setting_.worker ||
      header.shard != link.shard || header.shards != setting_.shards ||
      header.incarnation != setting_.incarnation || header.epoch < link.epoch) {
    return;  // to someone who was here before us, or from a server that was
  }
  if (header.epoch == link.epoch) {
    link.last_heard_ns = clock_.NowNs();
    // Segments are of a round, everything else is said in one.
    if (!std::holds_alternative<Segment>(message.body)) {
      link.open_round = std::max(link.open_round, header.round);
    }
  }
  std::visit([&](const auto& body) { Handle(link, message, body); }, message.body);
  Flush();
}

// ---- messages

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
  link.heartbeat_ms = welcome.heartbeat_ms;
  link.timeout_ms = welcome.worker_timeout_ms;
  if (!link.sender) {
    link.sender.emplace(SegmentSender::Setting{
        .window_bytes = static_cast<int64_t>(std::min<uint64_t>(welcome.window_bytes, INT64_MAX)),
        .segment_bytes =
            static_cast<int64_t>(std::min<uint64_t>(welcome.segment_bytes, INT64_MAX))});
    link.sender->LimitSegments(payload_limit_ - kEnvelopeBytes);
  }
  link.joined = true;
  link.last_heard_ns = clock_.NowNs();
  link.next_heartbeat_ns = link.last_heard_ns + link.heartbeat_ms * kMs;
  link.hello_wait_ns = kFirstHelloWaitNs;
  if (!anew) return;  // we had only lost sight of each other
  link.planned = false;
  link.acks.clear();
  JoinedAnew(link);
}

void WorkerSession::Handle(Link& link, const Message&, const Refuse& refuse) {
  if (link.joined) return;
  Fail(Status::InvalidInput("the server refused this worker (" +
                            std::string(Name(refuse.refusal.reason)) +
                            "): " + refuse.refusal.detail));
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
  link.acks.push_back(segment.sequence);
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
  // Of several servers each has a clock of its own; then the answer's arrival has to do.
  const bool by_server = links_.size() == 1 && !ack.arrived_ns.empty();
  for (size_t i = 0; i < ack.sequences.size(); ++i) {
    const auto segment = link.sender->Acknowledge(ack.sequences[i], now);
    if (!segment) continue;
    Arrived({.up = true,
             .begin = segment->range.begin,
             .bytes = segment->range.size() * static_cast<int64_t>(sizeof(float)),
             .at_ns = by_server ? ack.arrived_ns[i] : now,
             .heard_ns = now,
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
      if (!link.plan_answered) return Rejoin(link, false);  // we are not in yet ourselves
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
      Fail(Status::InvalidInput("the server refused a message (" +
                                std::string(Name(refusal.reason)) + "): " + refusal.detail));
  }
  if (problems_.size() < kMostProblems) {
    problems_.push_back(std::string(Name(refusal.reason)) + ": " + refusal.detail);
  }
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

// ---- joining

bool WorkerSession::Fits(const Welcome& welcome) {
  if (welcome.model_hash != setting_.model_hash) {
    Fail(Status::InvalidInput("the job trains model " + HexText(welcome.model_hash) +
                              " and this worker has " + HexText(setting_.model_hash) +
                              "; use the same model and version on both"));
    return false;
  }
  bool same = welcome.units.size() == layout_.units().size();
  for (size_t i = 0; same && i < welcome.units.size(); ++i) {
    same = welcome.units[i].parameters == layout_.units()[i].parameters &&
           welcome.units[i].statistics == layout_.units()[i].statistics;
  }
  if (!same) {
    Fail(Status::InvalidInput(
        "the server's table of units is not this worker's; use the same version on both"));
  }
  return same;
}

void WorkerSession::Rejoin(Link& link, bool soon) {
  if (link.joined) link.hello_wait_ns = kFirstHelloWaitNs;
  link.joined = false;
  const int64_t now = clock_.NowNs();
  const int64_t at = soon ? now : now + link.hello_wait_ns;
  link.next_hello_ns = std::max(link.next_hello_ns, at);
  if (soon) link.next_hello_ns = std::min(link.next_hello_ns, now + kFirstHelloWaitNs);
}

// The server has started again with `open` as its open round. A later version that we had from it
// was never committed: what comes in its place may be another, so nothing computed with it counts.
void WorkerSession::ForgetUncommitted(Link& link, int64_t open) {
  if (link.epoch == 0) return;
  if (push_.round > open) push_.alive = false;
  const FloatRange floats = FloatsOf(link);
  if (pull_round_ <= open || have_.Covered(floats) == 0) return;
  have_.Remove(floats);
  ++attempt_;
}

// This server has a new epoch or has taken us in anew, so it holds none of what we sent of the
// open round, and what we had from it of a later one may never have been committed.
void WorkerSession::JoinedAnew(Link& link) {
  const bool all =
      std::all_of(links_.begin(), links_.end(), [](const Link& l) { return l.joined; });
  if (start_over_) {
    if (all) StartOver();
    return;
  }
  const int64_t open = link.open_round;
  const FloatRange floats = FloatsOf(link);
  const bool has_gradients = push_.alive && push_.round == open;
  const bool computes = pull_round_ == open && begun_ == attempt_;
  if (computes || (has_gradients && pull_round_ == open + 1)) {
    // It waits for gradients that we have, or are about to.
    const bool has_parameters = !computes || have_.Covers(floats);
    if (!computes && have_.Covered(floats) > 0) {
      ++attempt_;
      have_.Remove(floats);
    }
    link.sender->ForgetAll();
    PlanFor(link, open, has_parameters);
    if (has_gradients) QueueReleased(link, floats);
    return;
  }
  if (pull_round_ == open) {  // it is about to send what we wait for
    have_.Remove(floats);
    link.sender->ForgetAll();
    PlanFor(link, open);
    return;
  }
  start_over_ = true;
  if (all && links_.size() == 1) return StartOver();
  for (Link& other : links_) {
    if (&other != &link) Rejoin(other, true);
  }
}

// The version to compute with next: the one coming in, or the one after it if we have done our part
// of that round.
int64_t WorkerSession::WantedRound() const {
  const bool did_our_part =
      push_.alive && push_.round == pull_round_ &&
      std::all_of(push_.released.begin(), push_.released.end(), [](bool r) { return r; });
  return did_our_part ? pull_round_ + 1 : pull_round_;
}

// Where there are several servers, one may close a round without us while another still waits for
// our gradients of it.
bool WorkerSession::MayGoOnTo(int64_t round) const {
  if (links_.size() == 1) return true;
  return round == WantedRound() || std::all_of(links_.begin(), links_.end(), [&](const Link& l) {
           return l.open_round >= round;
         });
}

// Of several servers, this one has opened `round` and may have been asked for an earlier one; then
// it sends no later one unasked.
bool WorkerSession::IsAhead(const Link& link, int64_t round) const {
  return links_.size() > 1 && link.planned && link.planned_round < round &&
         link.open_round >= round;
}

// A server has gone on without us and sends no more of the round that comes in: find out which
// round all of them can give.
void WorkerSession::LookForOlder() {
  const auto left = [&](const Link& l) {
    // One that has just this round open may be slow; one that is ahead has nothing more to send.
    const int64_t patience = l.open_round > pull_round_ ? kProgressNs : 4 * kProgressNs;
    return l.open_round >= pull_round_ && !have_.Covers(FloatsOf(l)) &&
           clock_.NowNs() - l.progress_ns > patience;
  };
  if (start_over_ || !joined() || std::none_of(links_.begin(), links_.end(), left)) return;
  start_over_ = true;
  for (Link& link : links_) Rejoin(link, false);
}

// The servers are at one round or, after one of them has crashed, at two that follow each other:
// the earlier one is to be computed, and whoever is ahead still has its parameters.
void WorkerSession::StartOver() {
  start_over_ = false;
  int64_t round = INT64_MAX;
  for (const Link& link : links_) round = std::min(round, link.open_round);
  push_.alive = false;
  StartPull(round);
  for (Link& link : links_) {
    link.sender->ForgetAll();
    PlanFor(link, round);
  }
}

void WorkerSession::StartPush(const Attempt& attempt) {
  push_ = {.alive = true,
           .attempt = attempt.id,
           .round = attempt.round,
           .released = std::vector<bool>(static_cast<size_t>(layout_.unit_count()), false),
           .ends = plan_.push_ends.empty() ? DefaultEnds() : plan_.push_ends,
           .turns = plan_.push_ends.empty() ? std::vector<int64_t>() : plan_.push_turns};
  for (Link& link : links_) {
    if (link.sender) link.sender->ForgetBefore(attempt.round);
  }
}

void WorkerSession::StartPull(int64_t round) {
  pull_round_ = round;
  have_.Clear();
  ++attempt_;
  for (Link& link : links_) {
    if (IsAhead(link, round)) PlanFor(link, round);
  }
}

void WorkerSession::PlanFor(Link& link, int64_t round, bool has_parameters) {
  link.planned = true;
  link.planned_round = round;
  link.has_parameters = has_parameters;
  link.progress_ns = clock_.NowNs();
  link.plan_answered = false;
  SendPlan(link);
}

void WorkerSession::SendPlan(Link& link) {
  const FloatRange own = FloatsOf(link);
  Plan plan{.ticket = link.ticket, .has_parameters = link.has_parameters};
  for (const int64_t end : plan_.pull_ends.empty() ? DefaultEnds() : plan_.pull_ends) {
    if (end <= own.begin) continue;
    plan.ends.push_back(static_cast<uint64_t>(std::min(end, own.end) - own.begin));
    if (end >= own.end) break;
  }
  Send(link, Lane::kControl, link.planned_round, std::move(plan));
}

// ---- sending

void WorkerSession::QueueReleased(Link& link, FloatRange range) {
  const FloatRange own = FloatsOf(link);
  auto end = std::upper_bound(push_.ends.begin(), push_.ends.end(), range.begin);
  for (; end != push_.ends.end(); ++end) {
    const int64_t begin = end == push_.ends.begin() ? 0 : *(end - 1);
    if (begin >= range.end) break;
    const FloatRange part{std::max(begin, own.begin), std::min(*end, own.end)};
    if (part.size() <= 0) continue;
    const WireLayout::UnitRange units = layout_.UnitsOf(part);
    bool whole = true;
    for (int u = units.first; u <= units.last && whole; ++u) {
      whole = push_.released[static_cast<size_t>(u)];
    }
    if (!whole) continue;
    const auto index = static_cast<size_t>(end - push_.ends.begin());
    link.sender->Queue({.round = push_.round, .range = part},
                       push_.turns.empty() ? 0 : push_.turns[index]);
  }
}

FloatRange WorkerSession::FloatsOf(const Link& link) const {
  return layout_.Units(link.first_unit, link.last_unit);
}

std::vector<int64_t> WorkerSession::DefaultEnds() const {
  const uint64_t segment = job_ ? job_->segment_bytes / sizeof(float) : 1;
  const int64_t most = std::max(static_cast<int64_t>(std::min<uint64_t>(segment, kMaxFloats)),
                                layout_.floats() / kPlanEnds + 1);
  const auto ends = layout_.SliceEnds({0, layout_.unit_count() - 1}, most);
  return {ends.begin(), ends.end()};
}

Header WorkerSession::HeaderFor(const Link& link, int64_t round) const {
  return {.job = setting_.job,
          .shard = static_cast<uint16_t>(link.shard),
          .shards = static_cast<uint16_t>(setting_.shards),
          .epoch = link.epoch,
          .round = round,
          .worker = setting_.worker,
          .incarnation = setting_.incarnation};
}

void WorkerSession::Send(Link& link, Lane lane, int64_t round, Body body) {
  if (!connected_ || left_) return;
  transport_.Publish(TopicOf(link.level, setting_.worker, lane),
                     Encode({.header = HeaderFor(link, round), .body = std::move(body)}));
}

void WorkerSession::SendSegment(Link& link, const OutgoingSegment& segment) {
  const WireLayout::UnitRange place = layout_.UnitsOf(segment.range);
  const FloatRange units = layout_.Units(place.first, place.last);
  const std::span<const float> data = std::span<const float>(gradients_)
                                          .subspan(static_cast<size_t>(segment.range.begin),
                                                   static_cast<size_t>(segment.range.size()));
  Send(link, Lane::kPush, segment.round,
       Segment{.kind = SegmentKind::kGradients,
               .ticket = link.ticket,
               .sequence = segment.sequence,
               .first_unit = static_cast<uint32_t>(place.first),
               .last_unit = static_cast<uint32_t>(place.last),
               .total = static_cast<uint64_t>(units.size()) * sizeof(float),
               .offset = static_cast<uint64_t>(segment.range.begin - units.begin) * sizeof(float),
               .data = std::as_bytes(data),
               .follows = segment.follows});
}

void WorkerSession::Flush() {
  if (!connected_ || left_ || !failure_.ok()) return;
  const int64_t now = clock_.NowNs();
  for (Link& link : links_) {
    if (!link.joined) continue;
    while (!link.acks.empty()) {
      const size_t count = std::min(link.acks.size(), kMostAcks);
      Ack ack{.ticket = link.ticket};
      ack.sequences.assign(link.acks.end() - static_cast<int64_t>(count), link.acks.end());
      link.acks.resize(link.acks.size() - count);
      Send(link, Lane::kControl, std::max<int64_t>(pull_round_, 0), std::move(ack));
    }
    if (!link.planned) continue;
    while (const std::optional<OutgoingSegment> segment = link.sender->Next(now)) {
      SendSegment(link, *segment);
    }
  }
}

void WorkerSession::Fail(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

}  // namespace weft::net
