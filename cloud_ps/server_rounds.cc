// SPDX-License-Identifier: Apache-2.0
// Rounds: slices are closed and released one by one, kept, and the last one opens the next round.
#include "cloud_ps/server.h"

#include <algorithm>
#include <cassert>

namespace weft::ps {
namespace {

constexpr size_t kPastRounds = 4;  // whose verdicts are remembered
constexpr int64_t kDiskRetryNs = 5'000'000'000;

}  // namespace

bool Server::Blocked() const { return checkpointing_ || (appends_ > 0 && appends_round_ < open_); }

// What all have delivered could be summed, or what is summed could be sent on.
bool Server::OnlyDiskIsMissing() const {
  if (!running_ || finished()) return false;
  const bool blocked = Blocked();
  const bool holds_back = closed_ > 0 && ReleasesWhenKept();
  if (!blocked && !holds_back) return false;
  return std::any_of(slice_.begin(), slice_.end(), [&](const Slice& s) {
    return s.closed ? holds_back && !s.kept : blocked && s.complete == in_round_;
  });
}

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
    // It came anew after the slice was closed and before it was kept: it computes the round first,
    // and would think it over if it saw anything of the next version.
    if (member.in_round && !member.delivery.Complete(slice)) continue;
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

}  // namespace weft::ps
