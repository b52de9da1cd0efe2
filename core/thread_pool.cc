// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <cassert>

namespace weft {

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  assert(threads >= 1);
  for (int index = 1; index < threads; ++index)
    workers_.emplace_back([this, index] { Work(index); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunPart(int index, int64_t count,
                         const std::function<void(int64_t, int64_t)>& body) const {
  const int64_t begin = count / threads_ * index + count % threads_ * index / threads_;
  const int64_t end = count / threads_ * (index + 1) + count % threads_ * (index + 1) / threads_;
  if (begin < end) body(begin, end);
}

void ThreadPool::For(int64_t count, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  if (threads_ > 1) {
    const std::lock_guard<std::mutex> lock(mu_);
    count_ = count;
    body_ = &body;
    busy_ = threads_ - 1;
    ++job_;
  }
  begin_.notify_all();
  RunPart(0, count, body);
  if (threads_ == 1) return;
  std::unique_lock<std::mutex> lock(mu_);
  done_.wait(lock, [&] { return busy_ == 0; });
}

void ThreadPool::Work(int index) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mu_);
  while (true) {
    begin_.wait(lock, [&] { return stop_ || job_ != seen; });
    if (stop_) return;
    seen = job_;
    const int64_t count = count_;
    const auto* body = body_;
    lock.unlock();
    RunPart(index, count, *body);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace weft
