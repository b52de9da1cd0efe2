// SPDX-License-Identifier: Apache-2.0
// Makes weave's plans on a thread of its own: the search for slice sizes takes longer than an idle
// window may last, and a plan that is a round late is no worse than none.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "sched/strategy.h"

namespace weft::sched {

class BackgroundPlanner {
 public:
  // Borrows the clock.
  explicit BackgroundPlanner(const Clock& clock);
  ~BackgroundPlanner();
  BackgroundPlanner(const BackgroundPlanner&) = delete;
  BackgroundPlanner& operator=(const BackgroundPlanner&) = delete;

  // Thread of the following: the owner's.

  // Only when it is not busy. As PlanIteration.
  void Start(const CostProfile& profile, std::vector<int64_t> places);
  // From Start until its plan was taken.
  bool busy() const { return busy_; }

  struct Made {
    IterationPlan plan = {};
    Nanos begin_ns = 0;
    Nanos end_ns = 0;
  };
  // The plan, once it is made. Does not wait.
  std::optional<Made> Take();

 private:
  struct Wanted {
    CostProfile profile = {};
    std::vector<int64_t> places = {};
  };
  void Work();

  const Clock& clock_;
  bool busy_ = false;  // the owner's
  std::mutex mu_;
  std::condition_variable changed_;
  std::optional<Wanted> wanted_;  // guarded by mu_
  std::optional<Made> made_;      // guarded by mu_
  bool stop_ = false;             // guarded by mu_
  std::thread thread_;            // last: it uses the others
};

}  // namespace weft::sched
