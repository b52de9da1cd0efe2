// SPDX-License-Identifier: Apache-2.0
// Every kernel of every backend on every op of a model, timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/compute/compute_stack.h"
#include "core/clock.h"
#include "core/kernel.h"

namespace weft::apps {

struct KernelBenchSetting {
  std::string model;
  int batch = 32;
  ComputeSetting compute;
};

struct KernelBenchRow {
  std::string op;  // the first layer's name that has it
  int layers = 0;  // how many do
  Role role = Role::kForward;
  int64_t macs = 0;
  std::vector<Registry::TimedKernel> kernels;  // the fastest first
};

Result<std::vector<KernelBenchRow>> BenchKernels(const KernelBenchSetting& setting,
                                                 const Clock& clock);

}  // namespace weft::apps
