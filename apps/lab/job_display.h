// SPDX-License-Identifier: Apache-2.0
// Shows a job while it runs: drawn over where somebody watches, now and then a line elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "apps/lab/job_screen.h"
#include "apps/lab/job_state.h"
#include "apps/lab/live_region.h"
#include "apps/terminal/console.h"
#include "core/clock.h"

namespace weft::apps {

class JobDisplay {
 public:
  enum class Mode {
    kPeople,
    kRounds,  // a JSON object for each round
    kSilent,
  };
  JobDisplay(const std::string& title, const std::string& hint, Mode mode, Console& console);

  double seconds() const { return static_cast<double>(clock_.NowNs() - began_ns_) / 1e9; }
  // Until there is something to draw, for poll.
  int MsToNextFrame() const;
  // To be called often.
  void Update(const JobState& state);
  // The last frame, as it stays.
  void Finish(const JobState& state);

 private:
  void Draw(const JobState& state, const std::string& hint);
  void PrintRound(const JobState& state) const;

  const SteadyClock clock_;
  const int64_t began_ns_ = clock_.NowNs();
  const std::string title_;
  const std::string hint_;
  const Mode mode_;
  const bool live_;
  Console& console_;
  LiveRegion region_;
  int64_t next_frame_ns_ = 0;
  int64_t first_round_ns_ = 0;  // 0: not yet
  int64_t shown_ = 0;           // rounds
};

}  // namespace weft::apps
