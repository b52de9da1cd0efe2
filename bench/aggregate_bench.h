// SPDX-License-Identifier: Apache-2.0
// How fast a server sums and steps, beside what the machine's memory gives a plain copy with the
// same threads in the same run.
#pragma once

#include <cstdint>

#include "core/clock.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/train/optimizer.h"

namespace weft::bench {

struct AggregateSetting {
  int64_t floats = 25'000'000;  // ResNet-50's, about
  int workers = 4;
  train::OptimizerSpec optimizer = train::Sgd{.momentum = 0.9, .weight_decay = 1e-4};
};

// Medians of several turns, in each of which all three had theirs. Bytes are those that must be
// read or written; what a cache fetches on top of them is not counted.
struct AggregateSpeed {
  int64_t bytes = 0;  // of one aggregation
  int64_t aggregate_ns = 0;
  double aggregate_gb_per_s = 0;  // 1e9 bytes a second
  double copy_gb_per_s = 0;       // memcpy: one read, one write
  double triad_gb_per_s = 0;      // a = b + s * c: two reads, one write
};

// Arrays are as long for the copy as for a worker's gradients. Takes some seconds for the default.
// Unavailable: there is not enough memory for that many floats and workers.
Result<AggregateSpeed> BenchAggregation(const AggregateSetting& setting, Parallel& parallel,
                                        const Clock& clock);

}  // namespace weft::bench
