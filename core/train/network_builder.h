// SPDX-License-Identifier: Apache-2.0
// Turns a Program into a Network: chooses kernels, writes down every step of forward and backward
// with the buffers it uses, lays the buffers out, and sets the pointers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/train/network.h"

namespace weft::train {

using BufferId = int;
inline constexpr BufferId kNoBuffer = -1;

// A Step whose memory is still buffers.
struct DraftStep {
  Kernel* kernel = nullptr;
  OpId op = 0;
  int unit = 0;
  const char* what = "";
  bool is_reorder = false;
  bool again = false;
  bool with_params = false;
  bool with_d_params = false;
  std::vector<BufferId> srcs = {};
  BufferId dst = kNoBuffer;
  BufferId d_dst = kNoBuffer;
  std::vector<BufferId> d_srcs = {};
  BufferId saved = kNoBuffer;
  BufferId scratch = kNoBuffer;
};

// All steps of one iteration for one choice of what is kept for backward.
struct Draft {
  std::vector<DraftStep> forward;
  std::vector<DraftStep> backward;
  std::vector<BufferUse> buffers;
  BufferId images = kNoBuffer;
  BufferId logits = kNoBuffer;
  BufferId d_logits = kNoBuffer;
  MemoryPlan plan;
};

class NetworkBuilder {
 public:
  NetworkBuilder(Network& network, KernelChooser& chooser, Parallel& parallel,
                 const Network::Options& options);
  Status Build();

 private:
  void ChooseKernels();
  size_t OwnBytes() const;
  std::vector<std::vector<bool>> WaysToDrop() const;
  Draft DraftFor(const std::vector<bool>& dropped);
  Result<Draft> DraftWithinBudget();
  void Bind(const Draft& draft);

  Network& network_;
  KernelChooser& chooser_;
  Parallel& parallel_;
  const Network::Options options_;
  std::vector<bool> needs_gradient_;  // by value
  std::vector<OpKernels> kernels_;    // by op; empty where an op is only a view
  std::map<std::pair<std::pair<ValueId, int>, int>, std::unique_ptr<Kernel>> reorders_;
  std::map<std::pair<int, int64_t>, std::unique_ptr<Kernel>> masks_;
  std::map<int64_t, std::unique_ptr<Kernel>> sums_;

  friend class DraftWriter;
};

}  // namespace weft::train
