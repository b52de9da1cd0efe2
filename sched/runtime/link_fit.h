// SPDX-License-Identifier: Apache-2.0
// What one direction of a link costs, learnt from real segments: time = Δt + bytes / rate, by a fit
// that a few reconnects and hiccups do not move. It stands for whole rounds, however many segments
// they have, in bounded memory.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/param_channel.h"
#include "core/rng.h"
#include "sched/cost_profile.h"

namespace weft::sched {

struct LinkCost {
  Nanos overhead_ns = 0;  // Δt
  int64_t bytes_per_s = 0;

  Nanos Of(int64_t bytes) const { return overhead_ns + TransferNs(bytes, bytes_per_s); }
};

class LinkFit {
 public:
  // In the order of arrival.
  void Add(const Arrival& arrival);
  // What came before the last few rounds is forgotten, as long as enough came since.
  void EndRound();

  // As of the end of the last round. Nullopt: too little has come by.
  const std::optional<LinkCost>& Fit() const { return fit_; }

 private:
  // Segments of about one size, one right behind the other.
  struct Run {
    int64_t count = 0;
    int64_t bytes = 0;
    Nanos ns = 0;

    double MeanBytes() const { return static_cast<double>(bytes) / static_cast<double>(count); }
    double MeanNs() const { return static_cast<double>(ns) / static_cast<double>(count); }
    double NsPerByte() const { return static_cast<double>(ns) / static_cast<double>(bytes); }
    void Add(const Run& other, int64_t times = 1);
  };
  struct Round {
    int64_t number = 0;
    Run all = {};  // runs, as one
    // For medians: one of every `stride` neighbouring runs, by chance.
    std::vector<Run> sample = {};
    int64_t stride = 1;
    int64_t seen = 0;    // runs
    int64_t chosen = 0;  // of the present `stride` runs
    // Those of the long runs that were slowest: whatever is an outlier is among them.
    std::vector<Run> slowest = {};
  };

  void Close();
  // Keeps one of each two neighbours in the sample.
  void Thin(Round& round);
  static std::optional<double> Overhead(const std::vector<Run>& runs);
  std::optional<LinkCost> FitRounds();

  std::optional<Nanos> last_ns_ = {};
  Run open_;
  Round round_;
  std::deque<Round> rounds_;  // before it, with something in them
  Rng rng_{1};
  std::optional<double> overhead_ = {};
  std::optional<LinkCost> fit_ = {};
};

}  // namespace weft::sched
