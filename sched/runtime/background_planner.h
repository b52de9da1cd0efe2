// SPDX-License-Identifier: Apache-2.0
// Simulates weave on a thread of its own: what the plan in force should take, which is quick, and
// new plans. The search for their slice sizes takes longer than an idle window may last, and a plan
// that is a round late is no worse than none.
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

  struct Wanted {
    CostProfile profile = {};
    std::optional<IterationPlan> in_force = {};  // to be priced, first of all
    bool plan = false;                           // then another is made
    std::vector<int64_t> places = {};            // as PlanIteration's
  };
  // Only when it is not busy.
  void Start(Wanted wanted);
  // It has something to do, or a plan that was not taken.
  bool busy();
  // What the plan in force takes by the last profile for which that was found out; once for each.
  // Does not wait.
  std::optional<Nanos> TakePrice();

  struct Made {
    IterationPlan plan = {};
    Nanos begin_ns = 0;
    Nanos end_ns = 0;
  };
  // The plan, once it is made. Does not wait.
  std::optional<Made> Take();

 private:
  void Work();

  const Clock& clock_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::optional<Wanted> wanted_;  // guarded by mu_, as all before thread_
  bool working_ = false;
  std::optional<Nanos> price_;
  std::optional<Made> made_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weft::sched
