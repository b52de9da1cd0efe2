// SPDX-License-Identifier: Apache-2.0
#include "cloud_ps/worker_budget.h"

#include <string>

#include "net/message.h"

namespace weft::ps {
namespace {

constexpr int64_t kPeriodNs = 10'000'000'000;
constexpr int64_t kTimes = 4;             // a broker may lose everything, and that twice
constexpr int64_t kOtherMessages = 1000;  // heartbeats, acknowledgements of parameters
constexpr int64_t kOtherBytes = 1 << 20;  // and what they hold
constexpr size_t kMostWorkers = 10'000;   // that have a budget of their own

}  // namespace

WorkerBudget::Allowance WorkerBudget::For(int64_t part_bytes, int64_t segment_bytes, int units) {
  const int64_t segments = net::kPlanEnds + units + part_bytes / segment_bytes;
  // Parameters come in as many at most, and each is acknowledged.
  return {.bytes = kTimes * part_bytes + kOtherBytes,
          .messages = kTimes * 2 * segments + kOtherMessages};
}

std::map<std::string, WorkerBudget::Spent, std::less<>>::iterator WorkerBudget::Find(
    std::string_view worker, int64_t now_ns) {
  if (const auto at = spent_.find(worker); at != spent_.end()) return at;
  if (spent_.size() >= kMostWorkers && now_ns - tidied_ns_ >= kPeriodNs) {
    tidied_ns_ = now_ns;
    std::erase_if(spent_, [&](const auto& each) {
      return now_ns - each.second.since_ns >= kPeriodNs;  // it would begin anew
    });
  }
  return spent_.try_emplace(std::string(spent_.size() < kMostWorkers ? worker : "")).first;
}

WorkerBudget::Verdict WorkerBudget::Take(std::string_view worker, int64_t bytes, int64_t round,
                                         int64_t now_ns) {
  const auto at = Find(worker, now_ns);
  Spent& spent = at->second;
  if (spent.round != round || now_ns - spent.since_ns >= kPeriodNs) {
    spent = {.round = round, .since_ns = now_ns, .told_ns = spent.told_ns};
  }
  spent.bytes += bytes;
  ++spent.messages;
  if (spent.bytes <= allowance_.bytes && spent.messages <= allowance_.messages) {
    return Verdict::kRead;
  }
  if (at->first != worker) return Verdict::kTooMuch;  // it may be any of them
  if (spent.told_ns != INT64_MIN && now_ns - spent.told_ns < kPeriodNs) return Verdict::kTooMuch;
  spent.told_ns = now_ns;
  return Verdict::kTellTooMuch;
}

}  // namespace weft::ps
