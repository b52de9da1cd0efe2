// SPDX-License-Identifier: Apache-2.0
// Turns a Program into a Network: chooses kernels, writes down every step of forward and backward
// with the buffers it uses, lays the buffers out, and sets the pointers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/train/network.h"
#include "core/train/recompute_plan.h"

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
  std::vector<BufferId> gradients;  // by unit; none where all are kept
  MemoryPlan plan;
};

class NetworkBuilder {
 public:
  NetworkBuilder(Network& network, KernelChooser& chooser, Parallel& parallel,
                 const Network::Options& options);
  Status Build();
  Result<MemoryTable> Plan();  // and builds nothing

 private:
  void ChooseKernels();
  size_t OwnBytes() const;
  size_t GradientBytes(int unit) const;
  // What the kernels' appetite makes of the values, for the planner of what to compute again.
  RecomputeFacts Facts() const;
  // Whether somebody reads value `v` in backward; whether the op does that made it.
  bool IsReadBackward(ValueId v) const;
  bool IsReadByProducer(ValueId v) const;
  // How a plan does: less over the budget is better, then less work.
  struct Trial {
    KeepingPlan plan;
    size_t over = 0;  // bytes, added up over steps
    double work = 0;  // multiply-adds of what is computed again

    friend bool operator<(const Trial& a, const Trial& b) {
      return a.over != b.over ? a.over < b.over : a.work < b.work;
    }
  };
  Trial TrialOf(const KeepingPlan& plan, size_t budget);
  void Improve(Trial& best, size_t budget);
  // What is dropped for free, and more if it saves a twentieth or more for 2 % of forward's work.
  KeepingPlan PlanForNextToNothing(const RecomputeFacts& facts);
  KeepingPlan PlanToFit(const RecomputeFacts& facts, size_t budget);
  Draft DraftFor(const KeepingPlan& plan);
  Result<Draft> DraftWithinBudget();
  MemoryTable TableOf(const Draft& draft) const;
  void Bind(const Draft& draft);
  void PlaceGradients(const Draft& draft, std::byte* block);

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
