// SPDX-License-Identifier: Apache-2.0
// Parallel with as many threads as a test asks for, made anew for each call.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace weft::train {

class FreshThreads final : public Parallel {
 public:
  explicit FreshThreads(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void For(int64_t count, const std::function<void(int64_t, int64_t)>& body) override {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads_; ++t) {
      const int64_t begin = count * t / threads_;
      const int64_t end = count * (t + 1) / threads_;
      if (begin < end) running.emplace_back([&body, begin, end] { body(begin, end); });
    }
  }

 private:
  int threads_;
};

}  // namespace weft::train
