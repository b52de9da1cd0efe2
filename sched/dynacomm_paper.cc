// SPDX-License-Identifier: Apache-2.0
#include "sched/dynacomm_paper.h"

#include <algorithm>
#include <limits>

namespace weft::sched {
namespace {

// The paper's +infinity: more than any valid phase, and safe to add a phase to.
constexpr Nanos kInfinity = std::numeric_limits<Nanos>::max() / 4;

// best[m][n] is the least time for the first m positions in n segments, path[m][n] the cut
// before the last of them.
class Table {
 public:
  explicit Table(int length)
      : stride_(length + 1),
        best_(static_cast<size_t>(stride_) * stride_, kInfinity),
        path_(best_.size(), -1) {
    best_[0] = 0;
  }

  Nanos best(int m, int n) const { return best_[At(m, n)]; }

  // Lines 12-17 of Algorithm 3, 13-18 of Algorithm 4: a tie keeps the earlier k.
  void Offer(int m, int n, int k, Nanos time) {
    if (best_[At(m, n)] <= time) return;
    best_[At(m, n)] = time;
    path_[At(m, n)] = k;
  }

  // Lines 21-39 and 22-38: the least time over n, a tie to the fewest segments, traced back.
  PhasePlan Plan() const {
    const int length = stride_ - 1;
    PhasePlan plan{.cuts = {}, .ns = kInfinity};
    int segments = -1;
    for (int n = 1; n <= length; ++n) {
      if (plan.ns <= best(length, n)) continue;
      plan.ns = best(length, n);
      segments = n;
    }
    for (int m = length, n = segments; n >= 0; --n) {
      plan.cuts.push_back(m);
      if (n > 0) m = path_[At(m, n)];
    }
    std::reverse(plan.cuts.begin(), plan.cuts.end());
    return plan;
  }

 private:
  size_t At(int m, int n) const { return static_cast<size_t>(m) * stride_ + n; }

  int stride_;
  std::vector<Nanos> best_;  // [L+1][L+1]
  std::vector<int> path_;    // [L+1][L+1]
};

}  // namespace

PhasePlan PlanDynacommPaperForward(const PhaseCosts& forward) {
  const int length = forward.length();
  const std::vector<Nanos> P = PrefixSums(forward.transfer);
  const std::vector<Nanos> C = PrefixSums(forward.compute);
  Table table(length);
  for (int m = 1; m <= length; ++m) {
    for (int n = 1; n <= m; ++n) {
      for (int k = 0; k < m; ++k) {
        const Nanos legal_start = std::max(table.best(k, n - 1), n * forward.overhead + P[m]);
        table.Offer(m, n, k, legal_start + C[m] - C[k]);
      }
    }
  }
  return table.Plan();
}

PhasePlan PlanDynacommPaperBackward(const PhaseCosts& backward) {
  const int length = backward.length();
  const std::vector<Nanos> G = PrefixSums(backward.transfer);
  const std::vector<Nanos> C = PrefixSums(backward.compute);
  Table table(length);
  for (int m = 1; m <= length; ++m) {
    for (int n = 1; n <= m; ++n) {
      for (int k = 0; k < m; ++k) {
        const Nanos legal_start = std::max(table.best(k, n - 1), C[m]);
        table.Offer(m, n, k, legal_start + G[m] - G[k] + backward.overhead);
      }
    }
  }
  return table.Plan();
}

}  // namespace weft::sched
