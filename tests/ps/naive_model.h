// SPDX-License-Identifier: Apache-2.0
// What the versions of a simulated job must come to, computed as plainly as can be: a mean is a
// loop over the workers, an update one over the floats. It takes what servers close, and says what
// is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cloud_ps/keeper.h"
#include "net/range_set.h"
#include "net/wire_layout.h"
#include "tests/ps/simulated_job.h"

namespace weft::ps {

class NaiveModel {
 public:
  // `job` must outlive it.
  explicit NaiveModel(const SimulatedJob& job);

  static float FirstValue(int64_t place) { return 0.1f * static_cast<float>(place % 11) - 0.5f; }

  // Adds what a server closed. Returns what is wrong with it, or nothing.
  std::string Close(int shard, const JournalRecord& record);
  // All of the next round at once, by every worker, as if nothing ever failed.
  void CloseRound();

  // What a server says version `round` of its part is. Returns what is wrong with it, or nothing.
  std::string Check(int shard, int64_t round, std::span<const float> values) const;

  // The server is at `round` again; what came after was not kept, but for the slices `closed`.
  void GoBack(int shard, int64_t round, std::span<const net::FloatRange> closed);

  const net::WireLayout::UnitRange& units(int shard) const {
    return parts_[static_cast<size_t>(shard)].units;
  }

 private:
  struct Version {
    std::vector<float> values;
    std::vector<float> state;
  };
  struct Part {
    net::WireLayout::UnitRange units;
    net::FloatRange range;
    std::vector<Version> versions;  // the last may be under way
    net::RangeSet moved;            // of the last
  };

  // Version `round` of the whole model, if every part has it.
  std::optional<std::vector<float>> Whole(int64_t round) const;
  // Of what the workers make of version `values` in `slice`, which is of the part.
  std::vector<float> Mean(const Part& part, const std::vector<float>& values, int64_t round,
                          net::FloatRange slice,
                          const std::vector<Contribution>& contributions) const;
  // One float after the other, by the optimizer itself.
  void Move(Part& part, int64_t round, net::FloatRange slice, const std::vector<float>& mean);

  const SimulatedJob& job_;
  std::vector<Part> parts_;
};

}  // namespace weft::ps
