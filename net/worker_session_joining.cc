// SPDX-License-Identifier: Apache-2.0
// How the worker joins its servers, agrees with them on a round, and finds back.
#include "net/worker_session.h"

#include <algorithm>
#include <cassert>

#include "core/hex_text.h"

namespace weft::net {
namespace {

constexpr int64_t kProgressNs = 3'000'000'000;  // without any, a server is asked anew

}  // namespace

bool WorkerSession::Fits(const Welcome& welcome) {
  if (welcome.model_hash != setting_.model_hash) {
    Fail(Status::Unavailable("the job trains model " + HexText(welcome.model_hash) +
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
    Fail(Status::Unavailable(
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
// our gradients of it. Once these begin to come, nothing keeps the rest of them back.
bool WorkerSession::MayGoOnTo(int64_t round) const {
  if (links_.size() == 1) return true;
  const bool in_backward = push_.alive && push_.round == pull_round_ && push_.attempt == attempt_;
  return (in_backward && round == pull_round_ + 1) ||
         std::all_of(links_.begin(), links_.end(),
                     [&](const Link& l) { return l.open_round >= round; });
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
           .ends = plan_.push_ends.empty() ? SliceEnds() : plan_.push_ends,
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
  for (const int64_t end : plan_.pull_ends.empty() ? SliceEnds() : plan_.pull_ends) {
    if (end <= own.begin) continue;
    plan.ends.push_back(static_cast<uint64_t>(std::min(end, own.end) - own.begin));
    if (end >= own.end) break;
  }
  Send(link, Lane::kControl, link.planned_round, std::move(plan));
}

}  // namespace weft::net
