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
  // Of a worker, besides three models: activations, or where they are replayed a unit's gradients.
  int64_t compute_bytes = 0;
  int64_t checkpoint_every = 100;  // rounds
};

// Of all programs of a kind together.
struct LabNeed {
  int64_t workers_bytes = 0;
  int64_t servers_bytes = 0;
  int64_t broker_bytes = 0;
  int64_t files_bytes = 0;  // which may be in memory, too

  int64_t programs_bytes() const { return workers_bytes + servers_bytes + broker_bytes; }
};
LabNeed NeedOf(const LabSize& size);

// 5 to 100 rounds: so many that the servers' journals stay below 2 GiB, or fewer if that lets all
// files go into memory, whose speed does not limit a round.
int64_t CheckpointEvery(LabSize size, const Scratch::Room& room);

// InvalidInput, with the numbers and what to do, if the programs do not fit into the memory or the
// files neither beside them nor on the disk.
Status CheckRoom(const LabSize& size, const Scratch::Room& room);

}  // namespace weft::apps
