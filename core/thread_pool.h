// SPDX-License-Identifier: Apache-2.0
// Threads of our own, for where no vendor library brings any. The caller works too.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace weft {

class ThreadPool final : public Parallel {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const override { return threads_; }
  void For(int64_t count, const std::function<void(int64_t, int64_t)>& body) override;

 private:
  void Work(int index);
  // The run of thread `index`.
  void RunPart(int index, int64_t count, const std::function<void(int64_t, int64_t)>& body) const;

  // Fixed after construction.
  const int threads_;
  std::vector<std::thread> workers_;  // threads_ - 1: the caller is the first

  // Guarded by mu_.
  std::mutex mu_;
  std::condition_variable begin_;
  std::condition_variable done_;
  uint64_t job_ = 0;  // counts calls of For
  int64_t count_ = 0;
  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  int busy_ = 0;
  bool stop_ = false;
};

}  // namespace weft
