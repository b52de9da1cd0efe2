// SPDX-License-Identifier: Apache-2.0
// Loops of our own, compiled for the widest vectors the machine has and run on all its threads. The
// loops are written once, in plain C++ or on Vec; the compiler makes one version of them for each
// instruction set, and the machine's is chosen when they run.
#pragma once

#include <omp.h>

#include <cassert>
#include <cstdint>

#include "kernels/onednn/device.h"

// Goes on every function and lambda whose code is to be made wide: it must be inlined into the
// version for the instruction set, or it stays narrow.
#define WEFT_WIDE __attribute__((always_inline))

namespace weft::onednn {

template <int kLanes>
struct VecOf {
  typedef float Float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
  typedef int32_t Int __attribute__((vector_size(kLanes * sizeof(int32_t)), may_alias));
  typedef uint8_t Byte __attribute__((vector_size(kLanes), may_alias));
  typedef double Double __attribute__((vector_size(kLanes * sizeof(double)), may_alias));
};

// One block of channels. Comparisons give an Int mask, `mask ? a : b` chooses lane by lane.
template <int kLanes>
using Vec = typename VecOf<kLanes>::Float;

template <typename Body>
__attribute__((noinline)) void RunBaseline(const Body& body, int64_t begin, int64_t end) {
  body(begin, end);
}

template <typename Body>
__attribute__((noinline, target("avx2,fma"))) void RunAvx2(const Body& body, int64_t begin,
                                                           int64_t end) {
  body(begin, end);
}

template <typename Body>
__attribute__((noinline, target("avx512f,avx512bw,avx512dq,avx512vl,fma"))) void RunAvx512(
    const Body& body, int64_t begin, int64_t end) {
  body(begin, end);
}

// Which loops may meet which instruction set: blocks of 16 are AVX-512's, blocks of 8 the others'.
constexpr int kAnyBlock = 0;

// On the calling thread. `body` is WEFT_WIDE.
template <int kBlock, typename Body>
void RunWide(const Device& device, int64_t begin, int64_t end, const Body& body) {
  if constexpr (kBlock != 8) {
    if (device.isa == Isa::kAvx512) return RunAvx512(body, begin, end);
  }
  if constexpr (kBlock != 16) {
    if (device.isa == Isa::kAvx2) return RunAvx2(body, begin, end);
    if (device.isa == Isa::kBaseline) return RunBaseline(body, begin, end);
  }
  assert(false && "a block that this processor does not use");
}

// Cuts [0, count) into one run of neighbours for each thread and calls body(begin, end) for each.
// `body` is WEFT_WIDE.
template <int kBlock = kAnyBlock, typename Body>
void ForWide(const Device& device, int64_t count, const Body& body) {
#pragma omp parallel num_threads(device.threads) if (count > 1)
  {
    const int64_t team = omp_get_num_threads();
    const int64_t me = omp_get_thread_num();
    const int64_t begin = count * me / team;
    const int64_t end = count * (me + 1) / team;
    if (begin < end) RunWide<kBlock>(device, begin, end, body);
  }
}

// The same for `count` floats, in runs that start on a cache line.
template <typename Body>
void ForWideFloats(const Device& device, int64_t count, const Body& body) {
  constexpr int64_t kLine = kAlignment / sizeof(float);
  ForWide(device, (count + kLine - 1) / kLine, [&](int64_t begin, int64_t end) WEFT_WIDE {
    body(begin * kLine, end * kLine < count ? end * kLine : count);
  });
}

}  // namespace weft::onednn
