// SPDX-License-Identifier: Apache-2.0
// Chooses kernels by timing. Per op, role and shape every candidate of every backend is timed
// once; the times can be kept in a file, one per machine, so that the next start knows already.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/kernel.h"

namespace weft {

// Thread: one at a time. Borrows the backends, in order of preference, and the clock.
class Registry final : public KernelChooser {
 public:
  struct Options {
    bool exact = false;   // leaves out kernels that are not exact()
    int threads = 1;      // part of what a time was measured with
    bool measure = true;  // false: takes each backend's own best guess
  };
  Registry(std::vector<Backend*> backends, const Clock& clock, const Options& options);

  // From now on an op is not timed where that would take more memory; the first kernel that is
  // offered is taken then. 0: no limit.
  void LimitTiming(size_t most_bytes) { most_timing_bytes_ = most_bytes; }

  OpKernels Choose(const OpSpec& op, bool backward, bool d_src) override;
  std::unique_ptr<Kernel> ChooseReorder(const Shape& shape, int from_block, int to_block) override;

  // Every kernel that is offered, ref's too, with its time, the fastest first.
  struct TimedKernel {
    std::string name;
    int64_t ns = 0;
    bool exact = true;
  };
  std::vector<TimedKernel> TimeAll(const OpSpec& op, Role role);

  // The times as text, a line each, and back. Lines that do not parse are passed over: a lost
  // time is measured again.
  std::string TimesText() const;
  void LearnTimes(const std::string& text);

 private:
  struct Candidate {
    std::unique_ptr<Kernel> kernel;
    int64_t ns = 0;
  };

  enum class Ask { kDefinitionLast, kEverybody };
  std::vector<std::unique_ptr<Kernel>> Offers(const OpSpec& op, Role role, Ask ask);
  // The largest number there is for a kernel that throws: it is never the fastest.
  int64_t TimeOf(const OpSpec& op, Role role, Kernel& kernel, Kernel& forward);
  std::string TimeKey(const OpSpec& op, Role role, const Kernel& kernel) const;
  // Whether the time of `kernel` is known, or may be measured.
  bool CanTime(const OpSpec& op, Role role, const Kernel& kernel) const;
  int64_t ReorderNs(const OpSpec& op, const Kernel& forward) const;

  std::vector<Backend*> backends_;
  const Clock& clock_;
  const Options options_;
  size_t most_timing_bytes_ = 0;
  std::map<std::string, int64_t> times_;  // by op, role, kernel and threads
};

// "conv2d 64x3x7x7 s2 … forward": the same for ops whose kernels take the same time.
std::string OpKey(const OpSpec& op, Role role);

}  // namespace weft
