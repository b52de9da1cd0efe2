// SPDX-License-Identifier: Apache-2.0
// Sixteen independent chains of vector multiply-adds keep every unit busy; the widest vectors the
// processor has are chosen at run time.
#include "bench/peak_flops.h"

#include <algorithm>
#include <cstdint>

namespace weft::bench {
namespace {

constexpr int kChains = 16;
constexpr int64_t kTurns = 400'000;

// The body is the same for every vector width; only the instruction set around it differs.
#define WEFT_PEAK_BODY(lanes)                                                                   \
  typedef float Vector __attribute__((vector_size(4 * (lanes))));                               \
  Vector chain[kChains];                                                                        \
  for (int i = 0; i < kChains; ++i) chain[i] = Vector{} + 0.5f + 0.01f * static_cast<float>(i); \
  const Vector factor = Vector{} + 0.999f;                                                      \
  const Vector term = Vector{} + 0.001f;                                                        \
  for (int64_t turn = 0; turn < turns; ++turn) {                                                \
    _Pragma("GCC unroll 16") for (int i = 0; i < kChains; ++i) {                                \
      chain[i] = chain[i] * factor + term;                                                      \
    }                                                                                           \
  }                                                                                             \
  Vector sum = chain[0];                                                                        \
  for (int i = 1; i < kChains; ++i) sum += chain[i];                                            \
  return sum[0]

float PlainTurns(int64_t turns) { WEFT_PEAK_BODY(4); }

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) float Avx2Turns(int64_t turns) { WEFT_PEAK_BODY(8); }
__attribute__((target("avx512f,fma"))) float Avx512Turns(int64_t turns) { WEFT_PEAK_BODY(16); }
#endif

#undef WEFT_PEAK_BODY

struct Turner {
  float (*run)(int64_t turns);
  int lanes;
};

Turner WidestTurner() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {Avx512Turns, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {Avx2Turns, 8};
#endif
  return {PlainTurns, 4};
}

}  // namespace

double PeakGflops(Parallel& parallel, const Clock& clock) {
  const Turner turner = WidestTurner();
  const double operations =
      2.0 * kChains * turner.lanes * static_cast<double>(kTurns) * parallel.threads();
  double best = 0;
  for (int run = 0; run < 8; ++run) {
    volatile float sink = 0;  // keeps the work from being optimised away
    const int64_t begin = clock.NowNs();
    parallel.For(parallel.threads(), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) sink = turner.run(kTurns);
    });
    best = std::max(best, operations / static_cast<double>(clock.NowNs() - begin));
  }
  return best;
}

}  // namespace weft::bench
