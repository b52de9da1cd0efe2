// SPDX-License-Identifier: Apache-2.0
// Who takes part in the open round, and who joins and leaves between rounds.
#include "cloud_ps/server.h"

#include <algorithm>
#include <cassert>

#include "core/clock.h"
#include "net/codec/codec.h"

namespace weft::ps {
int Server::Needed() const {
  return begun_ ? setting_.quorum : std::max(setting_.quorum, setting_.workers);
}

// Members, and those who were invited and may yet come.
int Server::PlacesTaken() {
  const int64_t patience = setting_.welcome.worker_timeout_ms * kNsPerMs;
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
          .segment_bytes = static_cast<int64_t>(setting_.welcome.segment_bytes),
          .least_credit_bytes =
              net::SegmentSender::LeastCredit(floats() * static_cast<int64_t>(sizeof(float)))});
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

}  // namespace weft::ps
