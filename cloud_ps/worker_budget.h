// SPDX-License-Identifier: Apache-2.0
// How much of a worker's messages a server reads: several times what any round needs, for each
// round and, where one lasts, for every ten seconds of it. Who sends more floods the server, and
// is not read until the next.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft::ps {

class WorkerBudget {
 public:
  struct Allowance {
    int64_t bytes = 0;
    int64_t messages = 0;
  };
  // For a server of `part_bytes` of a model with so many units, in messages of `segment_bytes`.
  static Allowance For(int64_t part_bytes, int64_t segment_bytes, int units);

  explicit WorkerBudget(const Allowance& allowance) : allowance_(allowance) {}

  // kTellTooMuch now and then, for people, and for the broker's guard: it is this worker's doing.
  enum class Verdict { kRead, kTooMuch, kTellTooMuch };
  // A message of `bytes` from `worker`, while `round` is open.
  Verdict Take(std::string_view worker, int64_t bytes, int64_t round, int64_t now_ns);

  const Allowance& allowance() const { return allowance_; }

 private:
  struct Spent {
    int64_t round = -1;
    int64_t since_ns = 0;
    int64_t bytes = 0;
    int64_t messages = 0;
    int64_t told_ns = INT64_MIN;
  };

  // What is kept of `worker`: more names than any job has are one.
  std::map<std::string, Spent, std::less<>>::iterator Find(std::string_view worker, int64_t now_ns);

  const Allowance allowance_;
  std::map<std::string, Spent, std::less<>> spent_;
  int64_t tidied_ns_ = 0;
};

}  // namespace weft::ps
