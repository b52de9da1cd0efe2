// SPDX-License-Identifier: Apache-2.0
// A joined device that trains: its data, its batches and the network that computes on them.
#pragma once

#include <memory>

#include "apps/job/job_model.h"
#include "apps/weft_edge/round_compute.h"
#include "apps/weft_edge/train_flags.h"
#include "core/clock.h"
#include "net/message.h"

namespace weft::apps {

// Borrows all but the share of the data and the batch size.
struct RealComputeParts {
  const TrainFlags& flags;
  const net::Welcome& job;
  const model::Graph& graph;
  const net::WireLayout& layout;
  train::Parameters& parameters;
  const Clock& clock;
  Share share = {};
  int batch = 0;
};
Result<std::unique_ptr<RoundCompute>> MakeRealCompute(const RealComputeParts& parts);

}  // namespace weft::apps
