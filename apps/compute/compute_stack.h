// SPDX-License-Identifier: Apache-2.0
// Who computes on this machine: the backends of this build in order of preference, the threads
// they share, and the registry that chooses, with its memory of earlier timings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/parallel.h"
#include "core/status.h"
#include "kernels/registry.h"

namespace weft::apps {

struct ComputeSetting {
  // Or names with commas between them, the preferred first; ref is always behind them.
  std::string backend = "auto";
  int threads = 0;              // 0: all processors
  bool exact = false;           // no kernels that trade digits for speed
  bool measure = true;          // false: each backend's best guess, at once
  std::string times_file = {};  // where timings are kept; empty: nowhere
};

class ComputeStack {
 public:
  // InvalidInput: this build has no such backend; the sentence lists those it has.
  static Result<std::unique_ptr<ComputeStack>> Create(const ComputeSetting& setting,
                                                      const Clock& clock);

  Parallel& parallel() { return *parallel_; }
  Registry& registry() { return *registry_; }
  int threads() const { return parallel_->threads(); }
  // Writes the timings down for the next start, where the setting says or in a file of the
  // caller's, and back. A file that cannot be written or read is no harm.
  void KeepTimes() const { KeepTimesIn(times_file_); }
  void KeepTimesIn(const std::string& file) const;
  void LearnTimesFrom(const std::string& file);

 private:
  ComputeStack() = default;

  std::unique_ptr<Parallel> parallel_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::unique_ptr<Registry> registry_;
  std::string times_file_;
};

// The backends of this build in the order that auto has them; ref is the last.
std::vector<std::string> BuiltBackends();

// Where timings of this machine are kept by default, from the environment: a file under
// $XDG_CACHE_HOME or ~/.cache; empty if there is no such place.
std::string DefaultTimesFile();

}  // namespace weft::apps
