// SPDX-License-Identifier: Apache-2.0
// A server's disk in memory and in virtual time: slow, full now and then, and in a crash it loses
// what it had not written yet, or some of that.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cloud_ps/keeper.h"
#include "core/rng.h"
#include "net/loopback/loopback_net.h"

namespace weft::ps {

struct DiskRecord {
  int64_t round = 0;
  net::FloatRange slice = {};
  std::vector<float> mean = {};
  std::vector<Contribution> contributions = {};
};

// What survives a crash.
struct VirtualDisk {
  uint64_t epoch = 0;
  bool has_snapshot = false;
  int64_t round = 0;
  std::vector<float> values = {};
  std::vector<float> state = {};
  std::vector<float> older = {};
  std::vector<DiskRecord> records = {};
  bool full = false;

  // The round that a server would open, and what is closed of it.
  int64_t OpenRound(int64_t floats, std::vector<net::FloatRange>* closed) const;
};

class VirtualKeeper final : public Keeper {
 public:
  // `closed` hears of every append before it is written, `wake` when there is something to poll.
  VirtualKeeper(VirtualDisk& disk, net::LoopbackNet& net, Rng& rng,
                std::function<void(const JournalRecord&)> closed, std::function<void()> wake)
      : disk_(disk), net_(net), rng_(rng), closed_(std::move(closed)), wake_(std::move(wake)) {}

  void Append(const JournalRecord& record) override;
  void Checkpoint(const Snapshot& snapshot) override;
  std::vector<KeptEvent> Poll() override { return std::exchange(done_, {}); }

  // Some of what was under way gets there all the same.
  void Crash();

 private:
  void Later(std::function<void()> what);

  VirtualDisk& disk_;
  net::LoopbackNet& net_;
  Rng& rng_;
  const std::function<void(const JournalRecord&)> closed_;
  const std::function<void()> wake_;
  std::deque<std::function<void()>> waiting_;
  std::vector<KeptEvent> done_;
  bool broken_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace weft::ps
