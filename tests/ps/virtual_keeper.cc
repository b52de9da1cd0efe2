// SPDX-License-Identifier: Apache-2.0
#include "tests/ps/virtual_keeper.h"

#include <utility>

#include "core/clock.h"
#include "net/range_set.h"

namespace weft::ps {

int64_t VirtualDisk::OpenRound(int64_t floats, std::vector<net::FloatRange>* closed) const {
  int64_t open = round;
  net::RangeSet covered;
  for (const DiskRecord& r : records) {
    if (r.round != open) continue;
    covered.Add(r.slice);
    closed->push_back(r.slice);
    if (covered.Covers({0, floats})) {
      ++open;
      covered.Clear();
      closed->clear();
    }
  }
  return open;
}

void VirtualKeeper::Append(const JournalRecord& record) {
  closed_(record);
  DiskRecord copy{record.round, record.slice,
                  std::vector<float>(record.mean.begin(), record.mean.end()), record.contributions};
  Later([this, copy = std::move(copy)] {
    KeptEvent event{.kind = KeptEvent::Kind::kAppended, .round = copy.round, .slice = copy.slice};
    if (disk_.full || broken_) {
      broken_ = true;
      event.status = Status::Unavailable("the disk is full");
    } else {
      disk_.records.push_back(copy);
    }
    done_.push_back(std::move(event));
  });
}

void VirtualKeeper::Checkpoint(const Snapshot& snapshot) {
  Later(
      [this, round = snapshot.round,
       values = std::vector<float>(snapshot.values.begin(), snapshot.values.end()),
       state = std::vector<float>(snapshot.optimizer_state.begin(), snapshot.optimizer_state.end()),
       older = std::vector<float>(snapshot.older_values.begin(), snapshot.older_values.end())] {
        KeptEvent event{.kind = KeptEvent::Kind::kCheckpointed, .round = round};
        if (disk_.full) {
          broken_ = true;
          event.status = Status::Unavailable("the disk is full");
        } else {
          broken_ = false;
          disk_.has_snapshot = true;
          disk_.round = round;
          disk_.values = values;
          disk_.state = state;
          disk_.older = older;
          disk_.records.clear();
        }
        done_.push_back(std::move(event));
      });
}

void VirtualKeeper::Crash() {
  const int64_t kept = rng_.Between(0, static_cast<int64_t>(waiting_.size()));
  for (int64_t i = 0; i < kept; ++i) waiting_[static_cast<size_t>(i)]();
  waiting_.clear();
}

void VirtualKeeper::Later(std::function<void()> what) {
  waiting_.push_back(std::move(what));
  net_.At(net_.now_ns() + rng_.Between(1, 50) * kNsPerMs, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || waiting_.empty()) return;
    waiting_.front()();  // in order, whatever the delay
    waiting_.pop_front();
    wake_();
  });
}

}  // namespace weft::ps
