// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/lab_room.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/text.h"

namespace weft::apps {
namespace {

constexpr int64_t kProgramBytes = int64_t{40} << 20;  // code, libraries, messages on the way
// On the way between a worker and a server, at most, one way: weft-ps's own --window.
constexpr int64_t kBrokerWindowBytes = int64_t{4} << 20;

std::string Many(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

LabNeed NeedOf(const LabSize& size) {
  const int64_t model = size.model_bytes;
  const int64_t share = model / size.shards;
  // Of a worker: the parameters, those coming in, the gradients going out.
  const int64_t worker = 3 * model + size.compute_bytes + kProgramBytes;
  // Of a server: the whole model, as it was begun with, and of its share two versions, the
  // optimizer's state, the mean, and what each worker has delivered.
  const int64_t server = model + (4 + size.workers) * share + kProgramBytes;
  // Of each pair, both ways: stored, and copied for who reads it.
  const int64_t pair = 4 * std::min(kBrokerWindowBytes, share);
  // A server writes its share each round, and keeps it until the checkpoint after the next.
  const int64_t files = (2 * size.checkpoint_every + 8) * model + (int64_t{64} << 20);
  return {.workers_bytes = size.workers * worker,
          .servers_bytes = size.shards * server,
          .broker_bytes = kProgramBytes + size.workers * size.shards * pair,
          .files_bytes = files};
}

int64_t CheckpointEvery(LabSize size, const Scratch::Room& room) {
  constexpr int64_t kLeast = 5;
  constexpr int64_t kMost = 100;
  constexpr int64_t kJournalBytes = int64_t{2} << 30;
  const int64_t most =
      std::clamp<int64_t>(kJournalBytes / std::max<int64_t>(1, size.model_bytes), kLeast, kMost);
  for (size.checkpoint_every = most; size.checkpoint_every >= kLeast; --size.checkpoint_every) {
    const LabNeed need = NeedOf(size);
    if (Scratch::InMemory(room, need.files_bytes, need.programs_bytes())) {
      return size.checkpoint_every;
    }
  }
  return most;
}

Status CheckRoom(const LabSize& size, const Scratch::Room& room) {
  const LabNeed need = NeedOf(size);
  if (need.programs_bytes() > room.memory_bytes) {
    return Status::InvalidInput(fmt::format(
        "{} ({}), {} ({}) and the broker ({}) with {} do not fit into the {} of memory that this "
        "machine has left; give fewer --workers or --shards, or a smaller --model or --batch",
        Many(size.workers, "worker"), BytesText(need.workers_bytes), Many(size.shards, "server"),
        BytesText(need.servers_bytes), BytesText(need.broker_bytes), size.model,
        BytesText(room.memory_bytes)));
  }
  if (!Scratch::InMemory(room, need.files_bytes, need.programs_bytes()) &&
      need.files_bytes > room.folder_bytes) {
    return Status::InvalidInput(fmt::format(
        "the servers' files take up to {}, for which there is neither room in memory nor in '{}', "
        "which has {}; let TMPDIR name a folder that has, or give a smaller --model",
        BytesText(need.files_bytes), room.folder, BytesText(room.folder_bytes)));
  }
  return Status::Ok();
}

}  // namespace weft::apps
