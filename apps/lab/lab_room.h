// SPDX-License-Identifier: Apache-2.0
// What a lab takes of this machine's memory and disk, found before anything of it starts: a machine
// that swaps, or ends programs for lack of memory, measures nothing.
#pragma once

#include <cstdint>
#include <string>

#include "apps/lab/scratch.h"
#include "core/status.h"

namespace weft::apps {

struct LabSize {
  std::string model;
  int workers = 1;
  int shards = 1;
  int64_t model_bytes = 0;
  int64_t compute_bytes =
      0;                    // of a worker, besides three models: activations, or a unit's gradients
  int64_t files_bytes = 0;  // of all servers together
};

// Of all programs of a kind together.
struct LabNeed {
  int64_t workers_bytes = 0;
  int64_t servers_bytes = 0;
  int64_t broker_bytes = 0;

  int64_t programs_bytes() const { return workers_bytes + servers_bytes + broker_bytes; }
};
LabNeed NeedOf(const LabSize& size);

// InvalidInput, with the numbers and what to do, if the programs do not fit into the memory or the
// files neither beside them nor on the disk.
Status CheckRoom(const LabSize& size, const Scratch::Room& room);

}  // namespace weft::apps
