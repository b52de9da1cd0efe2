// SPDX-License-Identifier: Apache-2.0
// Runs one op on the kernels of any backend and sees to it that they keep the contract of
// core/kernel.h. Outputs are full of NaN before a call and lie between guards, as does every other
// piece of memory; inputs must come back unchanged, scratch holds NaN, parameters are aligned to no
// more than they must be. All tensors go in and come out in the plain layout, whatever the kernel
// works in.
#pragma once

#include <string>
#include <vector>

#include "core/kernel.h"
#include "tests/op_harness/op_data.h"

namespace weft::harness {

// Borrowed; null where the role is not to be run.
struct KernelSet {
  Kernel* forward = nullptr;
  Kernel* backward_data = nullptr;
  Kernel* backward_weights = nullptr;
};

struct OpResult {
  std::vector<float> dst;
  std::vector<std::vector<float>> running;
  std::vector<std::vector<float>> d_srcs;
  std::vector<std::vector<float>> d_params;
  // The first breach of contract, in a sentence, or "". After a breach the rest was not run.
  std::string breach;
};

enum class Places {
  kApart,    // every tensor has memory of its own
  kInPlace,  // kernels that can write over what they read do so
};

// Runs forward and then the other roles there are, as the network would: a gradient that has to
// pass a joined activation before it reaches Conv2d, Linear or Add does so first.
OpResult RunOp(const OpSpec& op, const OpData& data, const KernelSet& kernels,
               Places places = Places::kApart);

// All three roles on the reference backend.
OpResult RunRef(const OpSpec& op, const OpData& data);

}  // namespace weft::harness
