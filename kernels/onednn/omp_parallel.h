// SPDX-License-Identifier: Apache-2.0
// Work of our own on the threads that oneDNN uses, so that a machine has one pool of them.
#pragma once

#include "core/parallel.h"

namespace weft::onednn {

class OmpParallel final : public Parallel {
 public:
  explicit OmpParallel(int threads) : threads_(threads) {}

  int threads() const override { return threads_; }
  void For(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body) override;

 private:
  const int threads_;
};

}  // namespace weft::onednn
