// SPDX-License-Identifier: Apache-2.0
// The seam for doing one thing on several cores. Vendor libraries bring their own threads; an
// implementation that uses those keeps two pools from fighting over a small board.
#pragma once

#include <cstdint>
#include <functional>

namespace weft {

class Parallel {
 public:
  virtual ~Parallel() = default;
  virtual int threads() const = 0;
  // Cuts [0, count) into one run of neighbours per thread, a function of count and threads() only,
  // calls body(begin, end) for each and returns when all are done. Thread: the owner's only.
  virtual void For(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body) = 0;
  // The same for any callable, which is only referred to: nothing is allocated.
  template <typename Body>
  void For(int64_t count, const Body& body) {
    For(count, std::function<void(int64_t, int64_t)>(std::cref(body)));
  }
};

// Does everything on the calling thread.
class Serial final : public Parallel {
 public:
  int threads() const override { return 1; }
  void For(int64_t count, const std::function<void(int64_t, int64_t)>& body) override {
    if (count > 0) body(0, count);
  }
};

}  // namespace weft
