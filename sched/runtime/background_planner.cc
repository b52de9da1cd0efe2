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

void BackgroundPlanner::Start(Wanted wanted) {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    assert(!wanted_ && !working_ && !made_);
    wanted_ = std::move(wanted);
  }
  changed_.notify_all();
}

bool BackgroundPlanner::busy() {
  const std::lock_guard<std::mutex> lock(mu_);
  return wanted_ || working_ || made_;
}

std::optional<Nanos> BackgroundPlanner::TakePrice() {
  const std::lock_guard<std::mutex> lock(mu_);
  return std::exchange(price_, std::nullopt);
}

std::optional<BackgroundPlanner::Made> BackgroundPlanner::Take() {
  const std::lock_guard<std::mutex> lock(mu_);
  return std::exchange(made_, std::nullopt);
}

void BackgroundPlanner::Work() {
  std::unique_lock<std::mutex> lock(mu_);
  for (;;) {
    working_ = false;
    changed_.wait(lock, [&] { return stop_ || wanted_; });
    if (stop_) return;
    const Wanted wanted = *std::exchange(wanted_, std::nullopt);
    working_ = true;
    if (wanted.in_force) {
      lock.unlock();
      const Nanos price = IterationNs(wanted.profile, *wanted.in_force);
      lock.lock();
      price_ = price;
    }
    if (!wanted.plan) continue;
    lock.unlock();
    Made made{.begin_ns = clock_.NowNs()};
    made.plan = PlanIteration(Strategy::kWeave, wanted.profile, wanted.places).value();
    made.end_ns = clock_.NowNs();
    lock.lock();
    made_ = std::move(made);
  }
}

}  // namespace weft::sched
