// SPDX-License-Identifier: Apache-2.0
// The processor as NNPACK sees it, and the threads that its work and ours is shared out among.
#pragma once

#include <pthreadpool.h>

#include <cstddef>
#include <memory>

namespace weft::nnpack {

// Thread: the owner of the backend. Outlives the kernels made with it.
struct Device {
  explicit Device(int threads);

  // Calls body(i) for every i below `count`, and sends the threads to sleep. NNPACK leaves them
  // spinning for the next call, in the way of whoever computes the next layer: end each run with
  // this, or with Rest.
  template <typename Body>
  void For(size_t count, const Body& body) const {
    pthreadpool_parallelize_1d(
        pool.get(), [](void* it, size_t i) { (*static_cast<const Body*>(it))(i); },
        const_cast<Body*>(&body), count, PTHREADPOOL_FLAG_YIELD_WORKERS);
  }
  void Rest() const {
    For(pthreadpool_get_threads_count(pool.get()), [](size_t) {});
  }

  struct DestroyPool {
    void operator()(pthreadpool_t doomed) const { pthreadpool_destroy(doomed); }
  };
  std::unique_ptr<pthreadpool, DestroyPool> pool;  // null: the calling thread does everything
  bool supported;                                  // whether NNPACK runs on this processor
};

}  // namespace weft::nnpack
