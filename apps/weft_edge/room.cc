// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_edge/room.h"

#include "apps/compute/process_memory.h"
#include "core/byte_size.h"

namespace weft::apps {

Status InWordsOfBoard(const TrainFlags& flags, const Status& refusal) {
  if (!flags.budget_is_boards) return refusal;
  return refusal.WithContext("not enough memory for board " + flags.board +
                             " (`weft-edge board` shows what fits)");
}

Result<size_t> RoomFor(const TrainFlags& flags, size_t coming) {
  Result<size_t> room = BytesLeft(flags.memory_budget, coming);
  if (!room.ok()) return InWordsOfBoard(flags, room.status());
  return room;
}

Result<std::optional<Fit>> FitForBoard(const TrainFlags& flags, const model::Graph& graph,
                                       int batch, int copies) {
  size_t budget = 0;
  if (!flags.memory_budget.empty()) {
    const Result<size_t> bytes = ParseBytes(flags.memory_budget);
    if (!bytes.ok()) return bytes.status();
    budget = *bytes;
  }
  const SteadyClock clock;
  // Kernels are each backend's first guess: good enough to plan with, and there at once.
  Result<std::unique_ptr<ComputeStack>> compute = ComputeStack::Create(
      {.backend = flags.backend, .threads = flags.threads, .exact = flags.exact, .measure = false},
      clock);
  if (!compute.ok()) return compute.status();
  return FitBatch(graph,
                  {.batch = batch,
                   .budget_bytes = budget,
                   .held_bytes = static_cast<size_t>(ResidentBytes()),
                   .copies = copies},
                  **compute);
}

}  // namespace weft::apps
