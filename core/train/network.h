// SPDX-License-Identifier: Apache-2.0
// A network ready to run for one batch size: kernels chosen, memory laid out, every pointer set.
// Running it allocates nothing. For training it goes forward and backward, for evaluation
// forward only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/clock.h"
#include "core/hooks.h"
#include "core/kernel.h"
#include "core/parallel.h"
#include "core/status.h"
#include "core/train/memory_plan.h"
#include "core/train/parameters.h"
#include "core/train/program.h"

namespace weft::train {

// One call of one kernel, with everything it needs.
struct Step {
  Kernel* kernel = nullptr;
  OpId op = 0;
  int unit = 0;           // while which it runs
  int params_unit = 0;    // whose parameters it reads; differs where forward is run again
  const char* what = "";  // "forward", "backward data", "reorder", ...
  bool is_reorder = false;
  KernelArgs args;
  // What the spans in args look at.
  std::vector<const float*> srcs = {};
  std::vector<float*> d_srcs = {};
  std::vector<const float*> params = {};
  std::vector<float*> d_params = {};
  std::vector<float*> running = {};
  int64_t spent_ns = 0;  // in all runs since the clock was given
  int64_t runs = 0;
};

struct MemoryTable {
  size_t parameters = 0;
  size_t statistics = 0;
  size_t gradients = 0;             // where they are kept; else they are in the planned block
  size_t activations = 0;           // the planned block: activations, their gradients, scratch
  size_t kernels = 0;               // what kernels keep for themselves, such as reordered weights
  size_t activations_unshared = 0;  // what the block would take if nothing shared its place
  int ops_computed_again = 0;       // in backward, instead of being kept
  double work_again = 0;            // of those, as a share of forward's
};

// Thread: one at a time.
class Network {
 public:
  struct Options {
    int batch = 1;
    bool training = true;
    // Whether the gradients of all units stay until their next backward. Else a unit's are there
    // only until the hook after its backward returns, and share their place with others.
    bool keep_gradients = true;
    // Most bytes for the activations' block and what kernels keep; what does not fit is computed
    // again in backward. 0: no limit; then only what costs next to nothing is computed again.
    size_t memory_budget = 0;
  };

  // Borrows all three; they must outlive it. Refuses a budget that cannot be met, saying what
  // could.
  static Result<std::unique_ptr<Network>> Create(Parameters& parameters, KernelChooser& chooser,
                                                 Parallel& parallel, const Options& options);

  // What such a network takes, without making it.
  static Result<MemoryTable> Plan(Parameters& parameters, KernelChooser& chooser,
                                  Parallel& parallel, const Options& options);

  const Program& program() const { return program_; }
  std::span<float> images() { return images_; }              // [N][C][H][W], to be filled
  std::span<const float> logits() const { return logits_; }  // [N][classes], after Forward
  std::span<float> d_logits() { return d_logits_; }          // to be filled before Backward

  // Of a unit's parameters, in their order. Training only.
  std::span<float> Gradients(int unit) const { return gradients_[static_cast<size_t>(unit)]; }

  // `draw` makes this step's random choices.
  void Forward(StepHooks& hooks, uint64_t draw);
  void Backward(StepHooks& hooks);

  // To be called when parameters were changed by others than the hooks.
  void ParametersChanged();

  // After a Forward that went wrong: the name of the first op that makes something not finite of
  // the images and parameters as they are, or none.
  std::optional<std::string> FirstNotFinite(uint64_t draw);

  // From now on every step is timed. Null stops it.
  void SetClock(const Clock* clock) { clock_ = clock; }
  std::span<const Step> forward_steps() const { return forward_; }
  std::span<const Step> backward_steps() const { return backward_; }
  MemoryTable memory() const;

 private:
  friend class NetworkBuilder;
  explicit Network(Parameters& parameters) : parameters_(parameters), arena_(Arena::kAlignment) {}

  void Run(Step& step, uint64_t draw);

  Parameters& parameters_;
  Program program_;
  Arena arena_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Step> forward_;             // by unit, first to last
  std::vector<Step> backward_;            // by unit, last to first
  std::vector<uint64_t> params_version_;  // by unit
  bool training_ = false;
  uint64_t last_draw_ = 0;  // of the last Forward; its Backward repeats it
  std::span<float> images_;
  std::span<const float> logits_;
  std::span<float> d_logits_;
  std::vector<std::span<float>> gradients_;  // by unit
  MemoryTable memory_;
  const Clock* clock_ = nullptr;
};

}  // namespace weft::train
