// SPDX-License-Identifier: Apache-2.0
#include "net/worker_session.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/copy_floats.h"
#include "net/codec/codec.h"

namespace weft::net {
namespace {

constexpr int64_t kMostHelloWaitNs = 8000 * kNsPerMs;
constexpr size_t kMostProblems = 100;
constexpr size_t kMostArrivals = 1 << 14;  // of each direction

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
                            std::span<const float> statistics, Parallel& parallel) {
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
  const auto place = [&](const FloatRange& range) {
    return std::span(gradients_)
        .subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
  };
  CopyFloats(gradients, place(parameters), parallel);
  CopyFloats(statistics, place(behind), parallel);
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
  // Answers of several servers may overtake each other. One alone has a clock that is not ours.
  if (links_.size() > 1) std::ranges::stable_sort(arrivals_up_, {}, &Arrival::at_ns);
  for (std::vector<Arrival>* direction : {&arrivals_up_, &arrivals_down_}) {
    arrivals.insert(arrivals.end(), direction->begin(), direction->end());
    direction->clear();
  }
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
  std::vector<Arrival>& arrivals = arrival.up ? arrivals_up_ : arrivals_down_;
  if (arrivals.size() < kMostArrivals) arrivals.push_back(arrival);
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
  const bool asks = std::ranges::any_of(links_, [](const Link& link) { return !link.joined; });
  if (connected_ && asks && deaf_.Exhausted(now)) {
    transport_.Renew("no server has been heard for " + deaf_.Text());
  }
  for (Link& link : links_) {
    if (!connected_) continue;
    if (link.joined && now - link.last_heard_ns > link.timeout_ms * kNsPerMs) Rejoin(link, true);
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
      link.next_heartbeat_ns = now + link.heartbeat_ms * kNsPerMs;
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
      next = std::min({next, link.next_hello_ns, deaf_.until_ns()});
      continue;
    }
    next = std::min(
        {next, link.next_heartbeat_ns, link.last_heard_ns + link.timeout_ms * kNsPerMs + 1});
    if (!link.planned) continue;
    next = std::min(next, link.sender->next_retry_ns());
    // From then on others need not wait for it.
    const int64_t overdue = link.sender->overdue_ns();
    if (links_.size() > 1 && overdue > clock_.NowNs()) next = std::min(next, overdue);
  }
  return next;
}

// ---- the connection

void WorkerSession::Connected(const ConnectionLimits& limits) {
  connected_ = true;
  payload_limit_ = limits.payload_bytes;
  const int64_t now = clock_.NowNs();
  deaf_.Connected(now);
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
  Complain(topic + ": " + why.message());
}

void WorkerSession::Complain(std::string problem) {
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(problem));
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

std::vector<int64_t> WorkerSession::SliceEnds() const {
  std::vector<int64_t> ends;
  for (const Link& link : links_) {
    for (const int64_t end : link.slice_ends) ends.push_back(FloatsOf(link).begin + end);
  }
  return ends;
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
    if (!link.acks.sequences.empty()) {
      link.acks.ticket = link.ticket;
      Send(link, Lane::kControl, std::max<int64_t>(pull_round_, 0), std::exchange(link.acks, {}));
    }
  }
  while (const auto next = NextSegment(now)) SendSegment(*next->first, next->second);
}

std::optional<std::pair<WorkerSession::Link*, OutgoingSegment>> WorkerSession::NextSegment(
    int64_t now_ns) {
  std::vector<Link*> ready;
  int64_t on_the_way = 0;
  for (Link& link : links_) {
    if (!link.joined || !link.planned) continue;
    ready.push_back(&link);
    // What a server does not answer says nothing of the way there.
    if (!link.sender->stalled()) on_the_way += link.sender->bytes_on_the_way();
  }
  std::ranges::stable_sort(ready, [](const Link* a, const Link* b) {
    constexpr SegmentSender::Urgency kNone{INT64_MAX, INT64_MAX, INT64_MAX};
    return a->sender->urgency().value_or(kNone) < b->sender->urgency().value_or(kNone);
  });
  bool full = false;  // what is less urgent would only be in the way of what waits
  for (Link* link : ready) {
    SegmentSender& sender = *link->sender;
    const int64_t own = sender.stalled() ? 0 : sender.bytes_on_the_way();
    if (const auto segment = full ? sender.Again(now_ns) : sender.Next(now_ns, on_the_way - own)) {
      return std::pair(link, *segment);
    }
    full = full || (sender.urgency() && now_ns < sender.overdue_ns());
  }
  return std::nullopt;
}

void WorkerSession::Fail(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

}  // namespace weft::net
