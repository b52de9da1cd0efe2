// SPDX-License-Identifier: Apache-2.0
// A small job as a seed draws it: its layout, workers, servers, sizes and optimizer, and what its
// workers make of the parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/rng.h"
#include "core/train/optimizer.h"
#include "net/message.h"
#include "net/wire_layout.h"

namespace weft::ps {

struct SimulatedJob {
  explicit SimulatedJob(uint64_t seed);

  static std::string WorkerName(int w) { return "w" + std::to_string(w); }
  static int WorkerIndex(const std::string& name) { return std::stoi(name.substr(1)); }

  // What worker `w` makes of version `values` in round `round`: [floats] gradients and statistics.
  // Every float depends on all of `values`, so that a mixture of versions shows.
  std::vector<float> Gradients(const std::vector<float>& values, int w, int64_t round) const;

  Rng rng;
  std::optional<net::WireLayout> layout;
  int workers = 1;
  int shards = 1;
  int64_t rounds = 1;
  bool strict = true;  // every round has every worker
  int quorum = 1;
  int64_t deadline_ns = 0;
  int64_t slice_floats = 0;
  int64_t segment_bytes = 0;
  int64_t window_bytes = 0;
  int64_t checkpoint_every = 1;
  bool whole_versions = false;
  int64_t replan_percent = 0;  // of the rounds, with another plan
  std::vector<uint32_t> batch;
  std::optional<train::Optimizer> optimizer;
  net::ModelHash hash = {};
};

}  // namespace weft::ps
