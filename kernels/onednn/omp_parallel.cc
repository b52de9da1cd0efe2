// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/omp_parallel.h"

#include <omp.h>

namespace weft::onednn {

void OmpParallel::For(int64_t count, const std::function<void(int64_t, int64_t)>& body) {
#pragma omp parallel for schedule(static, 1) num_threads(threads_) if (count > 1)
  for (int part = 0; part < threads_; ++part) {
    const int64_t begin = count * part / threads_;
    const int64_t end = count * (part + 1) / threads_;
    if (begin < end) body(begin, end);
  }
}

}  // namespace weft::onednn
