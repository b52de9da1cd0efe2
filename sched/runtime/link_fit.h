// SPDX-License-Identifier: Apache-2.0
// What one direction of a link costs, learnt from real segments: time = Δt + bytes / rate, by a fit
// that a few reconnects and hiccups do not move.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/param_channel.h"
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
    int64_t round = 0;
    int64_t count = 0;
    int64_t bytes = 0;
    Nanos ns = 0;

    double MeanBytes() const { return static_cast<double>(bytes) / static_cast<double>(count); }
    double MeanNs() const { return static_cast<double>(ns) / static_cast<double>(count); }
  };

  void Close();
  std::optional<double> Overhead() const;
  std::optional<LinkCost> FitRuns() const;

  int64_t round_ = 0;
  std::optional<Nanos> last_ns_ = {};
  Run open_;
  std::deque<Run> runs_;
  std::optional<LinkCost> fit_ = {};
};

}  // namespace weft::sched
