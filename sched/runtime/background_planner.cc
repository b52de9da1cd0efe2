// SPDX-License-Identifier: Apache-2.0
#include "sched/runtime/background_planner.h"

#include <cassert>
#include <utility>

namespace weft::sched {

BackgroundPlanner::BackgroundPlanner(const Clock& clock) : clock_(clock) {
  thread_ = std::thread([this] { Work(); });
}

BackgroundPlanner::~BackgroundPlanner() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundPlanner::Start(const CostProfile& profile, std::vector<int64_t> places) {
  assert(!busy_);
  busy_ = true;
  {
    const std::lock_guard<std::mutex> lock(mu_);
    wanted_ = {.profile = profile, .places = std::move(places)};
  }
  changed_.notify_all();
}

std::optional<BackgroundPlanner::Made> BackgroundPlanner::Take() {
  if (!busy_) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mu_);
  if (made_) busy_ = false;
  return std::exchange(made_, std::nullopt);
}

void BackgroundPlanner::Work() {
  for (;;) {
    Wanted wanted;
    {
      std::unique_lock<std::mutex> lock(mu_);
      changed_.wait(lock, [&] { return stop_ || wanted_; });
      if (stop_) return;
      wanted = *std::exchange(wanted_, std::nullopt);
    }
    Made made{.begin_ns = clock_.NowNs()};
    made.plan = PlanIteration(Strategy::kWeave, wanted.profile, wanted.places).value();
    made.end_ns = clock_.NowNs();
    const std::lock_guard<std::mutex> lock(mu_);
    made_ = std::move(made);
  }
}

}  // namespace weft::sched
